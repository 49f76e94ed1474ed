package latency

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"genreport/measure"
)

// near allows for the width of a bucket: three significant digits, rounded up.
func near(got, want time.Duration) bool {
	return got >= want && got <= want+want/1000
}

func of(values ...time.Duration) *Histogram {
	h := New()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func repeat(n int, v time.Duration) []time.Duration { return slices.Repeat([]time.Duration{v}, n) }

// Nearest rank, as a reader would count it out by hand.
func TestQuantile(t *testing.T) {
	const ms = time.Millisecond
	var upTo19 []time.Duration
	for i := range 20 {
		upTo19 = append(upTo19, time.Duration(i)*ms)
	}
	for _, tt := range []struct {
		name   string
		values []time.Duration
		q      float64
		want   time.Duration
	}{
		{"p95 of 0…19 ms", upTo19, 0.95, 18 * ms},
		{"p99 of 0…19 ms", upTo19, 0.99, 19 * ms},
		{"p50 of 0…19 ms", upTo19, 0.5, 9 * ms},
		{"the smallest", upTo19, 0, 0},
		{"the largest", upTo19, 1, 19 * ms},
		{"p99 with one outlier is not the mean", append(repeat(99, ms), 1000*ms), 0.99, ms},
		{"p99 of 60", append(repeat(59, ms), 1000*ms), 0.99, 1000 * ms}, // the library says 1 ms
		{"p7 of 100", append(repeat(7, ms), repeat(93, 2*ms)...), 0.07, ms},
		{"one", []time.Duration{5 * ms}, 0.5, 5 * ms},
		{"below zero", []time.Duration{-ms}, 1, 0},
		{"longer than any job", []time.Duration{24 * time.Hour}, 1, Longest},
		{"a microsecond", []time.Duration{1234}, 1, 1234},
	} {
		got, ok := of(tt.values...).Quantile(tt.q)
		if !ok || !near(got, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, ok, tt.want)
		}
	}
	if _, ok := New().Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
	if _, ok := New().Max(); ok {
		t.Error("a maximum of nothing")
	}
	if n := of(upTo19...).Above(15*ms + ms/2); n != 4 {
		t.Errorf("%d of 0…19 ms lie above 15.5 ms", n)
	}
}

func sample(seed uint64, n int) []time.Duration {
	r := rand.New(rand.NewPCG(seed, 7))
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(r.ExpFloat64() * float64(3*time.Millisecond))
	}
	return out
}

// What comes back is what went in, and merging is recording all in one.
func TestEncodeAndMerge(t *testing.T) {
	a, b := sample(1, 5000), sample(2, 3000)
	b = append(b, 0, Longest)
	all := of(append(slices.Clone(a), b...)...)
	var parts []*Histogram
	for _, values := range [][]time.Duration{a, b, nil} {
		stored := of(values...).Encode()
		if stored.Count != int64(len(values)) || len(stored.HDR) > 8000 {
			t.Errorf("%d values are stored as count %d in %d bytes", len(values), stored.Count, len(stored.HDR))
		}
		h, err := Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		if !h.h.Equals(of(values...).h) {
			t.Errorf("%d values come back as others", len(values))
		}
		parts = append(parts, h)
	}
	merged := New()
	for _, p := range parts {
		merged.Merge(p)
	}
	if merged.Count() != 8002 || !merged.h.Equals(all.h) || merged.Encode() != all.Encode() {
		t.Errorf("%d values after merging, or others", merged.Count())
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := of(sample(1, 100)...).Encode()
	foreign := func(h *hdr.Histogram) measure.Histogram {
		text, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		return measure.Histogram{HDR: string(text)}
	}
	raw, err := base64.StdEncoding.DecodeString(good.HDR)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1]++ // of the checksum
	const kind = "it is not an HdrHistogram (format V2, compressed, base64)"
	for _, tt := range []struct {
		name string
		in   measure.Histogram
		want string
	}{
		{"nothing", measure.Histogram{}, kind},
		{"prose", measure.Histogram{HDR: "p99 = 12 ms"}, kind},
		{"base64 of something else", measure.Histogram{HDR: "aGVsbG8gd29ybGQsIGhlbGxv"}, kind},
		{"cut off", measure.Histogram{Count: 100, HDR: good.HDR[:len(good.HDR)/8*4]}, kind},
		{"changed", measure.Histogram{Count: 100, HDR: base64.StdEncoding.EncodeToString(raw)}, kind},
		{"microseconds to a minute", foreign(hdr.New(1, 60e6, 3)), "it goes from 1 to 60000000 ns with 3 digits, want 1 to 1800000000000 ns with 3 digits"},
		{"two digits", foreign(hdr.New(1, int64(Longest), 2)), "with 2 digits, want"},
		{"another count", measure.Histogram{Count: 99, HDR: good.HDR}, "it holds 100 values, and 99 are said to be in it"},
	} {
		h, err := Decode(tt.in)
		if h != nil || err == nil || !strings.HasPrefix(err.Error(), "latency histogram: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Any text is refused or read, never a panic.
func FuzzDecode(f *testing.F) {
	f.Add(int64(3), of(1, 2, time.Second).Encode().HDR)
	f.Add(int64(0), "HISTFAAA")
	f.Fuzz(func(t *testing.T, count int64, text string) {
		h, err := Decode(measure.Histogram{Count: count, HDR: text})
		if err != nil {
			return
		}
		if again, err := Decode(h.Encode()); err != nil || !again.h.Equals(h.h) {
			t.Errorf("it does not come back: %v", err)
		}
	})
}

// BenchmarkRecordValue is the library alone: what any recorder costs at least.
func BenchmarkRecordValue(b *testing.B) {
	h := hdr.New(1, Longest.Nanoseconds(), digits)
	values := sample(1, 1024)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = h.RecordValue(int64(values[i%len(values)]))
	}
}

func BenchmarkRecord(b *testing.B) {
	h := New()
	values := sample(1, 1024)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Record(values[i%len(values)])
	}
}
