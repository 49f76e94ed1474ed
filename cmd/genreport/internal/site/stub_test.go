package site
import "testing"
func (r realSite) charts(t *testing.T){}
func (r realSite) reading(t *testing.T){}
func (r realSite) keyboard(t *testing.T){}
func (r realSite) accessible(t *testing.T){}
