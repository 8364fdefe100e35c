package archive

import (
	"fmt"
	"reflect"
	"slices"
)

// Attributes are what an upload says about the new document (specification, endpoint 3). All lists
// them; code that copies, compares, checks, keeps or sends attributes loops over that list. The
// JSON names are those of the spool's records, which embed Attributes.
type Attributes struct {
	Keywords []string   `json:"keywords,omitempty"`
	Types    []string   `json:"types,omitempty"`
	Metadata []KeyValue `json:"metadata,omitempty"`
	// ExternalID is the user's own id, empty for none.
	ExternalID       string           `json:"externalId,omitempty"`
	EmailImportOrder EmailImportOrder `json:"emailImportOrder,omitempty"`
	ForceNew         Flag             `json:"forceNew,omitempty"`
}

// All returns every attribute in the order of the upload form, with a pointer to its value in a.
func (a *Attributes) All() []Attribute {
	return []Attribute{
		{Name: "keywords", Value: &a.Keywords},
		{Name: "document-types", Value: &a.Types},
		{Name: "external-id", Value: &a.ExternalID},
		{Name: "metadata", Value: &a.Metadata},
		{Name: "email-import-order", Value: (*string)(&a.EmailImportOrder), valid: func(text string) bool { return EmailImportOrder(text).Valid() }},
		{Name: "force-new-document", Value: &a.ForceNew},
	}
}

// EmailImportOrder says how an uploaded e-mail becomes documents.
type EmailImportOrder string

// The values of EmailImportOrder; an empty one leaves the choice to the service.
const (
	EmailThenAttachments EmailImportOrder = "EMAIL_THEN_ATTACHMENTS"
	AttachmentsThenEmail EmailImportOrder = "ATTACHMENTS_THEN_EMAIL"
	EmailOnly            EmailImportOrder = "EMAIL_ONLY"
	AttachmentsOnly      EmailImportOrder = "ATTACHMENTS_ONLY"
)

// Valid reports whether o is one of the specification's values or empty.
func (o EmailImportOrder) Valid() bool {
	return slices.Contains([]EmailImportOrder{"", EmailThenAttachments, AttachmentsThenEmail, EmailOnly, AttachmentsOnly}, o)
}

// Attribute is one of Attributes.
type Attribute struct {
	// Name is the name that users see, and the key of a default.
	Name string
	// Value points to the value: a *[]string, *[]KeyValue, *string or *Flag.
	Value any
	// valid reports whether a text is a possible value; nil: every text is.
	valid func(text string) bool
}

// Texts returns the texts in the value, keys of metadata included; none if it is not set.
func (a Attribute) Texts() []string {
	switch v := a.Value.(type) {
	case *[]string:
		return *v
	case *[]KeyValue:
		texts := make([]string, 0, 2*len(*v))
		for _, kv := range *v {
			texts = append(texts, kv.Key, kv.Value)
		}
		return texts
	case *string:
		if *v != "" {
			return []string{*v}
		}
	case *Flag:
		if *v != FlagUnknown {
			return []string{v.String()}
		}
	}
	return nil
}

// IsSet reports whether the attribute has a value.
func (a Attribute) IsSet() bool { return len(a.Texts()) > 0 }

// IsChoice reports whether the attribute has one of a few values, else any text.
func (a Attribute) IsChoice() bool { return a.valid != nil }

// Check returns an error for a value that the attribute cannot have.
func (a Attribute) Check() error {
	switch v := a.Value.(type) {
	case *string:
		if a.valid != nil && !a.valid(*v) {
			return fmt.Errorf("unknown %s %q", a.Name, Printable(*v))
		}
	case *Flag:
		if *v > FlagTrue {
			return fmt.Errorf("unknown %s %d", a.Name, *v)
		}
	}
	return nil
}

// AttributeTexts returns the texts in all values.
func (a *Attributes) AttributeTexts() []string {
	var texts []string
	for _, one := range a.All() {
		texts = append(texts, one.Texts()...)
	}
	return texts
}

// CheckAttributes returns an error for a value that its attribute cannot have.
func (a *Attributes) CheckAttributes() error {
	for _, one := range a.All() {
		if err := one.Check(); err != nil {
			return err
		}
	}
	return nil
}

// CloneAttributes returns a copy that shares nothing with a.
func (a *Attributes) CloneAttributes() Attributes {
	c := *a
	for _, one := range c.All() {
		switch v := one.Value.(type) {
		case *[]string:
			*v = slices.Clone(*v)
		case *[]KeyValue:
			*v = slices.Clone(*v)
		}
	}
	return c
}

// EqualAttributes reports whether a and b are equal.
func (a *Attributes) EqualAttributes(b *Attributes) bool {
	return slices.EqualFunc(a.All(), b.All(), func(a, b Attribute) bool { return slices.Equal(a.Texts(), b.Texts()) })
}

// Inherit sets each attribute that only above has; of metadata, each key that only above has.
func (a *Attributes) Inherit(above Attributes) {
	above = above.CloneAttributes()
	from := above.All()
	for i, one := range a.All() {
		switch own := one.Value.(type) {
		case *[]KeyValue:
			for _, kv := range *from[i].Value.(*[]KeyValue) {
				if !slices.ContainsFunc(*own, func(own KeyValue) bool { return own.Key == kv.Key }) {
					*own = append(*own, kv)
				}
			}
		default:
			if !one.IsSet() {
				reflect.ValueOf(own).Elem().Set(reflect.ValueOf(from[i].Value).Elem())
			}
		}
	}
}
