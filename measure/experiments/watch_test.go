package experiments

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"genreport/measure"
)

// A value is that of its second, however long a reading takes: the time of the
// series must not lag behind that of the load.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		// The third reading, which begins at 2 s, takes 2.5 s, and the others 0.1 s.
		n := 0
		w := watch(t.Context(), func(context.Context) (measure.Value, map[string]measure.Value) {
			at := int64(time.Since(began).Seconds())
			if n++; n == 3 {
				time.Sleep(2400 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
			return measure.Int(at), map[string]measure.Value{"vm": measure.Int(100 * at)}
		})
		time.Sleep(6500 * time.Millisecond)
		series := w.stop()
		missing := measure.Missing("the reading before it took longer")
		for name, factor := range map[string]int64{"rss": 1, "vm": 100} {
			s := series[name]
			want := []measure.Value{measure.Int(0), measure.Int(factor), measure.Int(2 * factor), missing, missing, measure.Int(5 * factor), measure.Int(6 * factor)}
			if s.Unit != measure.Bytes || s.Start != 0 || s.Step != 1 || len(s.Values) != len(want) {
				t.Fatalf("%s: %+v", name, s)
			}
			for i, v := range s.Values {
				if v != want[i] {
					t.Errorf("%s: second %d is %v, want %v", name, i, v, want[i])
				}
			}
		}
	})
}
