package article

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Again resolves content again and again, for a preview: a page whose sources
// are as they were is the one that was made of them. It holds for one Data.
type Again struct {
	data  Data
	pages map[[sha256.Size]byte]Page
	leads map[string]leads // by file
}

// NewAgain begins with nothing made.
func NewAgain(d Data) *Again {
	return &Again{data: d, pages: map[[sha256.Size]byte]Page{}, leads: map[string]leads{}}
}

// Resolve is that of Content. It forgets the pages that are not made any more.
func (a *Again) Resolve(c Content) ([]Page, error) {
	made := map[[sha256.Size]byte]Page{}
	var pages []Page
	var errs []error
	for _, s := range c.articles {
		key := s.sum()
		p, ok := a.pages[key]
		if !ok {
			var err error
			if p, a.leads[s.file], err = s.resolve(a.data, a.leads[s.file]); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		made[key] = p
		pages = append(pages, p)
	}
	a.pages = made
	return pages, errors.Join(errs...)
}

// sum is of all that a page is made of, but for the data.
func (s source) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, part := range []string{s.file, s.sharedFile, s.sharedText, s.text} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
