# Two commands do everything: `make report` and `make test`.
PROFILE ?= quick
PAGES ?= public
GENREPORT = build/genreport

.DELETE_ON_ERROR:
.PHONY: help report test soak variance watch-cost setup setup-test assets build check-format lint unit screenshots social site-figures clean

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

report: setup assets build ## measure real brokers and make the pages (PROFILE=quick|standard|full)
	@echo "$(GENREPORT) run --profile $(PROFILE)"; \
	$(GENREPORT) run --profile $(PROFILE); s=$$?; \
	case $$s in 0|3) scripts/after-report $(PROFILE);; esac; exit $$s

test: setup setup-test assets build lint ## everything that is checked, on real brokers and a real browser
	go test -count=1 -timeout 20m ./...

unit: assets ## the tests that need no broker and no browser
	go test -short ./...

soak: setup ## many kills of genreport and of its broker at random moments, some 20 minutes
	GENREPORT_SOAK=1 go test -count=1 -timeout 90m -v -run 'Killed|Interrupted' ./cmd/genreport ./measure/runner

variance: setup ## where the noise of a throughput comes from: node, queue or window; best on a quiet machine
	GENREPORT_VARIANCE=1 go test -count=1 -timeout 60m -v -p 1 -run 'TestVariance|TestIdleNodes' ./measure/experiments ./measure/runner

watch-cost: setup ## what it costs a broker that its memory is read once a second, some 15 minutes; best on a quiet machine
	GENREPORT_VARIANCE=1 go test -count=1 -timeout 60m -v -run TestWatchCost ./measure/experiments

setup: ## system packages for measuring and rendering (apt-get)
	@scripts/apt-install mmdebstrap:mmdebstrap bubblewrap:bwrap uidmap:newuidmap debian-archive-keyring nodejs:node npm:npm wrk:wrk

setup-test: ## system packages for the tests (apt-get)
	@scripts/install-browser
	@scripts/apt-install fonts-noto-cjk

assets: build/echarts.js ## ECharts from the npm registry, bundled

build/echarts.js: package.json package-lock.json cmd/genreport/internal/chart/echarts.entry.js cmd/genreport/internal/chart/echarts.live.js
	npm ci --no-audit --no-fund
	npm run --silent bundle
	@touch $@

build: ## the program, in build/
	go build -o $(GENREPORT) ./cmd/genreport

lint: ## formatting, go vet, staticcheck, and a tidy go.mod
	@test -z "$$(gofmt -l cmd measure templates)" || { gofmt -l cmd measure templates; echo "run gofmt -w on these"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go mod tidy -diff

screenshots: assets build ## pictures of PAGES (default public), for looking at, in build/screenshots; some two minutes
	@scripts/install-browser
	@scripts/apt-install fonts-noto-cjk
	rm -rf build/screenshots
	go test -count=1 -run TestLook ./cmd/genreport/internal/site -args -pages $(abspath $(PAGES)) -look $(abspath build/screenshots)
	@ls build/screenshots | wc -l | sed 's|$$| pictures in build/screenshots|'

social: assets build ## the pictures that previews of links show, into content/social
	@scripts/install-browser
	@scripts/apt-install fonts-noto-cjk
	scripts/social $(GENREPORT)

site-figures: assets build ## Lighthouse, axe-core and an HTML validator on the pages, into scripts/site-figures
	@scripts/install-browser
	@scripts/apt-install hugo:hugo
	scripts/site-figures/measure

clean: ## what was built; the cache of root file systems stays
	rm -rf build node_modules
