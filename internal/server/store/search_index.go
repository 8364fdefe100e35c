package store

import "context"

// saidAtOnce is how many documents are taken into the index in one transaction, which others wait
// for: some 20 ms.
const saidAtOnce = 100

// IndexSaid takes some of what is said about documents into the index, and reports whether there is
// more. What is not in it is found all the same, but costs each search a look at the document.
func (s *Store) IndexSaid(ctx context.Context) (more bool, err error) {
	err = s.write.change(ctx, func(tx changing) error {
		more, err = s.indexSaid(ctx, tx, saidAtOnce)
		return err
	})
	return more, err
}
