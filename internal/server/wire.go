package server

import "github.com/archivefs/archivefs/archive"

// The dates of the wire carry no zone: they are in Options.Location.
const (
	wireTime = "2006-01-02T15:04:05" // in lists and parameters
	dataTime = "2006-01-02 15:04:05" // in document data
)

// wireCreated is the answer of POST /folder/create.
type wireCreated struct {
	ID   archive.ID `json:"id"`
	Name string     `json:"name"`
}

// wireKeyValue is an entry of external-metadata.
type wireKeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// wireData is the extended document, the answer of GET /document/{id}/data.
type wireData struct {
	ID          archive.ID   `json:"id"`
	Name        string       `json:"name"`
	NumPages    int          `json:"numPages"`
	Mandator    string       `json:"mandator"`
	FolderID    archive.ID   `json:"folderId"`
	FolderPath  string       `json:"folderPath"`
	Created     string       `json:"creationDate"`
	CreatorID   int64        `json:"creatorId"`
	CreatorName string       `json:"creatorName"`
	Keywords    []string     `json:"keywords"`
	Types       []string     `json:"classification"`
	External    wireExternal `json:"external"`
	Workflows   []struct{}   `json:"workflows"`
	Pages       []wirePage   `json:"pages"`
	History     []wireChange `json:"history,omitempty"` // of document data alone
}

// wireChange is something that was changed. The specification has nothing like it.
type wireChange struct {
	Date     string `json:"date"`
	UserName string `json:"userName"`
	Action   string `json:"action"`
	Key      string `json:"key,omitempty"` // of metadata
	OldValue string `json:"oldValue"`
	NewValue string `json:"newValue"`
}

type wireExternal struct {
	ID       string            `json:"externalId"`
	Metadata map[string]string `json:"metadata"`
}

type wirePage struct {
	ID     int64       `json:"id"`
	Hit    bool        `json:"hit"`
	Notes  []wireNote  `json:"notes"`
	Stamps []wireStamp `json:"stamps"`
}

type wireNote struct {
	Text        string `json:"text"`
	Date        string `json:"date"`
	CreatorID   int64  `json:"creatorId"`
	CreatorName string `json:"creatorName"`
}

type wireStamp struct {
	Title string `json:"title"`
	wireNote
}
