package office_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/archivefs/archivefs/internal/server/office"
	"github.com/archivefs/archivefs/internal/testing/odd"
)

// storage is what a storage of a message has: strings by their property, bytes by the name of their stream, and
// numbers by their tag.
type storage map[any]any

// message makes a message of storages, by their paths; "" is the message itself.
func message(storages map[string]storage) []byte {
	streams := map[string][]byte{}
	for at, s := range storages {
		fixed := make([]byte, map[bool]int{true: 32, false: 8}[at == ""])
		for key, value := range s {
			switch key := key.(type) {
			case int:
				fixed = binary.LittleEndian.AppendUint64(fixed, uint64(key))
				fixed = binary.LittleEndian.AppendUint64(fixed, uint64(value.(int)))
			case string:
				name := at + "__substg1.0_" + key
				if content, is := value.([]byte); is {
					streams[name] = content
				} else {
					var b []byte
					for _, unit := range utf16.Encode([]rune(value.(string))) {
						b = binary.LittleEndian.AppendUint16(b, unit)
					}
					streams[name+"001F"] = b
				}
			}
		}
		streams[at+"__properties_version1.0"] = fixed
	}
	return odd.Compound(streams)
}

const (
	recipient = "__recip_version1.0_#%08X/"
	attached  = "__attach_version1.0_#%08X/"
	inner     = "__substg1.0_3701000D/"
)

func first(kind string) string  { return fmt.Sprintf(kind, 0) }
func second(kind string) string { return fmt.Sprintf(kind, 1) }

// fileTime is a time in units of 100 ns since 1601.
func fileTime(t time.Time) int { return int((t.Unix() + 11_644_473_600) * 1e7) }

// usual has sender, receivers, date and subject, and the properties of more.
func usual(more storage) storage {
	s := storage{
		"001A": "IPM.Note", "0037": "Rechnung Quittenbrot", "0C1A": "Anna Schmidt", "0C1F": "anna@lieferant.example", "0E04": "Muster GmbH; Eve",
		0x00390040: fileTime(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)),
	}
	maps.Copy(s, more)
	return s
}

const usualHeader = "From: Anna Schmidt <anna@lieferant.example>\nTo: Muster GmbH; Eve\nDate: Tue, 03 Mar 2026 09:00:00 +0000\nSubject: Rechnung Quittenbrot\n"

// packedRTF has the examples of [MS-OXRTFCP], 3.1 and 3.2.
var packedRTF = []string{
	"2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0",
	"1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0",
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// messages are messages and their texts.
var messages = map[string]struct {
	storages map[string]storage
	want     string
}{
	"a text": {
		map[string]storage{"": usual(storage{"1000": "Guten Tag,\r\n\r\nSchlehenmus 😀\r\n\r\n", "10130102": []byte("<p>nicht das</p>")})},
		usualHeader + "\nGuten Tag,\n\nSchlehenmus 😀\n",
	},
	"a long text": {
		map[string]storage{"": usual(storage{"1000": strings.Repeat("Quitte ", 2000) + "Ende"})}, usualHeader + "\n" + strings.Repeat("Quitte ", 2000) + "Ende\n",
	},
	"receivers": {
		map[string]storage{
			"": usual(storage{"5D01": "anna.s@lieferant.example", "0C1F": "/O=EXCHANGE/CN=ANNA", "0E03": "nicht dies"}), first(recipient): {"3001": "Muster GmbH", "39FE": "a@muster.example  ", 0x0c150003: 1},
			second(recipient): {"3001": "Eve", "3003": "/O=EXCHANGE/CN=EVE", 0x0c150003: 2}, fmt.Sprintf(recipient, 2): {"3001": "b@muster.example", "3003": "b@muster.example", 0x0c150003: 1},
		},
		"From: Anna Schmidt <anna.s@lieferant.example>\nTo: Muster GmbH <a@muster.example>, b@muster.example\nCc: Eve\n" + usualHeader[strings.Index(usualHeader, "Date"):] + "\n\n",
	},
	"the code page of strings": {
		map[string]storage{"": {
			"0037001E": []byte("\xce\xf2\xf7\xb8\xf2\x00"), "1000001E": []byte("\xcf\xf0\xe8\xe2\xe5\xf2\x00"), "0065001E": []byte("eve@example.org\x00"), 0x3ffd0003: 1251, 0x3fde0003: 65001,
			0x0e060040: fileTime(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)),
		}},
		"From: eve@example.org\nDate: Tue, 03 Mar 2026 09:00:00 +0000\nSubject: Отчёт\n\nПривет\n",
	},
	"no code page":     {map[string]storage{"": {"0037001E": []byte("Gr\xfc\xdfe"), "1000001E": []byte("\x80")}}, "Subject: Grüße\n\n€\n"},
	"HTML in bytes":    {map[string]storage{"": usual(storage{"1000": " \r\n", "10130102": []byte("<p>Gr\xfc\xdfe</p><p>x &amp; y"), 0x3fde0003: 28591})}, usualHeader + "\nGrüße\n\nx & y\n"},
	"HTML in UTF-8":    {map[string]storage{"": usual(storage{"10130102": []byte("<style>p {}</style><p>Grüße"), 0x3ffd0003: 1252})}, usualHeader + "\nGrüße\n"},
	"HTML in a string": {map[string]storage{"": usual(storage{"1013": "<p>Grüße"})}, usualHeader + "\nGrüße\n"},
	"packed RTF":       {map[string]storage{"": usual(storage{"10090102": unhex(packedRTF[0])})}, usualHeader + "\nhello world\n"},
	"packed RTF that repeats itself": {
		map[string]storage{"": usual(storage{"10090102": unhex(packedRTF[1])})}, usualHeader + "\nWXYZWXYZWXYZWXYZWXYZ\n",
	},
	"RTF that is not packed": {
		map[string]storage{"": usual(storage{"10090102": append(unhex("00000000000000004d454c4100000000"), `{\rtf1 Gr\'fc\'dfe}`...)})}, usualHeader + "\nGrüße\n",
	},
	"RTF that is cut":         {map[string]storage{"": usual(storage{"10090102": unhex(packedRTF[0][:80])})}, usualHeader + "\nhello w\n"},
	"RTF that is cut at once": {map[string]storage{"": usual(storage{"10090102": unhex(packedRTF[0][:20])})}, usualHeader + "\n\n"},
	"RTF that refers to nothing": {
		map[string]storage{"": usual(storage{"10090102": unhex("00000000000000004c5a467500000000" + "01f000")})}, usualHeader + "\n\n",
	},
	"attachments": {
		map[string]storage{
			"": usual(storage{"1000": "Anbei"}), first(attached): {"3707": "Rechnung 17.pdf", "3704": "RECHNU~1.PDF", "37010102": []byte(odd.SmallPDF)},
			second(attached): {"3704001E": []byte("\xfc.pdf")}, fmt.Sprintf(attached, 2): {},
		},
		usualHeader + "Attachment: Rechnung 17.pdf\nAttachment: ü.pdf\n\nAnbei\n",
	},
	"messages in messages": {
		map[string]storage{
			"": usual(storage{"1000": "Anbei"}), first(attached): {"3001": "Hagebutte"}, first(attached) + inner: {"0037001E": []byte("\xce\xf2\xf7\xb8\xf2"), "1000": "Innen", 0x3ffd0003: 1251},
			first(attached) + inner + first(attached): {"3001": "tiefer"}, first(attached) + inner + first(attached) + inner: {"1000": "Tief"}, second(attached): {"3707": "b.pdf"},
		},
		usualHeader + "Attachment: Hagebutte\nAttachment: b.pdf\n\nAnbei\nSubject: Отчёт\nAttachment: tiefer\n\nInnen\n\nTief\n",
	},
	"nothing": {map[string]storage{"": {}}, "\n\n"},
}

func TestMessage(t *testing.T) {
	for name, test := range messages {
		t.Run(name, func(t *testing.T) {
			content := message(test.storages)
			if got, err := office.Message(bytes.NewReader(content), int64(len(content))); err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestMessageIsBounded(t *testing.T) {
	deep := map[string]storage{"": {}}
	for n, at := 0, ""; n < 40; n++ {
		at += first(attached) + inner
		deep[at] = storage{"1000": fmt.Sprint("Ebene ", n)}
	}
	content := message(deep)
	got, err := office.Message(bytes.NewReader(content), int64(len(content)))
	if err != nil || !strings.Contains(got, "Ebene 5") || strings.Contains(got, "Ebene 20") {
		t.Errorf("%q, %v", got, err)
	}
	many := map[string]storage{"": {}}
	for n := range 1500 {
		many[fmt.Sprintf(recipient, n)] = storage{"3001": fmt.Sprint("Eve ", n), 0x0c150003: 1}
	}
	content = message(many)
	if got, err := office.Message(bytes.NewReader(content), int64(len(content))); err != nil || strings.Count(got, "Eve ") != 1500 || !strings.Contains(got, "Eve 1499") {
		t.Errorf("many receivers: %d bytes, %v", len(got), err)
	}
	nested := message(map[string]storage{"": {}, strings.Repeat("a/", 5000): {}})
	if got, err := office.Message(bytes.NewReader(nested), int64(len(nested))); err != nil || strings.TrimSpace(got) != "" {
		t.Errorf("storages in one another: %d bytes, %v", len(got), err)
	}
}

func TestMessageUnreadable(t *testing.T) {
	whole := message(map[string]storage{"": usual(storage{"1000": strings.Repeat("Quitte ", 2000)})})
	for name, content := range map[string][]byte{
		"nothing": {}, "text": []byte("Text"), "a head": whole[:512], "cut": whole[:len(whole)/2], "of Word": odd.Compound(map[string][]byte{"WordDocument": whole}),
		"an empty file": odd.Compound(nil),
	} {
		if got, err := office.Message(bytes.NewReader(content), int64(len(content))); !errors.Is(err, office.ErrUnreadable) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// FuzzMessage reads anything, as a file and as packed RTF in one.
func FuzzMessage(f *testing.F) {
	for _, test := range messages {
		f.Add(message(test.storages))
	}
	for _, packed := range packedRTF {
		f.Add(unhex(packed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, content := range [][]byte{content, message(map[string]storage{"": {"10090102": content}})} {
			got, err := office.Message(bytes.NewReader(content), int64(len(content)))
			if err != nil && !errors.Is(err, office.ErrUnreadable) || !utf8.ValidString(got) || len(got) > office.MaxText {
				t.Errorf("%q, %v", got, err)
			}
		}
	})
}
