package hostile

import "slices"

// AddMandator adds a top-level folder and returns its id.
func (s *Service) AddMandator(name string) int64 { return s.addFolder(Folder{Name: name}) }

// AddFolder adds a folder below parent, a mandator, a folder or one of an inbox.
func (s *Service) AddFolder(parent int64, name string) int64 {
	return s.addFolder(Folder{Parent: parent, Name: name})
}

// AddInbox adds the inbox of a user and returns the id of its folder.
func (s *Service) AddInbox(user int64, name string) int64 {
	return s.addFolder(Folder{Name: name, Inbox: true, User: user})
}

func (s *Service) addFolder(f Folder) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.addFolder(f)
}

// AddDocument adds a copy of d to a folder and returns its id.
func (s *Service) AddDocument(folder int64, d Document) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	d = d.clone()
	d.Folder = folder
	return s.store.add(d).ID
}

// Document returns a copy of a document, and whether there is one of that id.
func (s *Service) Document(id int64) (Document, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.store.documents[id]
	if !ok {
		return Document{}, false
	}
	return d.clone(), true
}

// Documents returns copies of the documents in a folder by ascending id, those that
// listings still leave out included.
func (s *Service) Documents(folder int64) []Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	var docs []Document
	for _, d := range s.store.in(folder, false) {
		docs = append(docs, d.clone())
	}
	return docs
}

// Reveal makes listings show what they still leave out.
func (s *Service) Reveal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.store.documents {
		d.hidden = 0
	}
}

// Change changes a document behind the client's back and reports whether there is one
// of that id.
func (s *Service) Change(id int64, change func(*Document)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, ok := s.store.documents[id]
	if ok {
		change(d)
	}
	return ok
}

// Remove removes a document behind the client's back.
func (s *Service) Remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.store.documents, id)
}

// RemoveFolder removes a folder and all below it behind the client's back.
func (s *Service) RemoveFolder(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeFolderLocked(id)
}

func (s *Service) removeFolderLocked(id int64) {
	for _, f := range s.store.selectFolders(func(f *Folder) bool { return f.Parent == id }) {
		s.removeFolderLocked(f.ID)
	}
	for _, d := range s.store.in(id, false) {
		delete(s.store.documents, d.ID)
	}
	s.store.folders = slices.DeleteFunc(s.store.folders, func(f *Folder) bool { return f.ID == id })
}

// RenameFolder gives a folder another name behind the client's back.
func (s *Service) RenameFolder(id int64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.store.selectFolders(func(f *Folder) bool { return f.ID == id }) {
		f.Name = name
	}
}

// Folders returns the folders below parent by ascending id; 0: the mandators.
func (s *Service) Folders(parent int64) []Folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.store.children(parent))
}

// InboxFolders returns the folders of the inboxes by ascending id.
func (s *Service) InboxFolders() []Folder {
	s.mu.Lock()
	defer s.mu.Unlock()
	return values(s.store.inboxes())
}

func values(folders []*Folder) []Folder {
	var out []Folder
	for _, f := range folders {
		out = append(out, *f)
	}
	return out
}
