package webapi

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"genreport/measure/load"
)

const (
	maxTitle   = 255       // characters
	maxContent = 1<<16 - 1 // bytes, of the column type TEXT
)

// post is a post as the client sends it and the queue carries it.
type post struct {
	ID      uint64 `json:"id"`
	Title   string `json:"title"`
	Content string `json:"content"`
}

func (p post) validate() error {
	switch {
	case p.Title == "":
		return errors.New("title is missing")
	case utf8.RuneCountInString(p.Title) > maxTitle:
		return fmt.Errorf("title has more than %d characters", maxTitle)
	case p.Content == "":
		return errors.New("content is missing")
	case len(p.Content) > maxContent:
		return fmt.Errorf("content has more than %d bytes", maxContent)
	}
	return nil
}

// row is what GORM makes a row of the table from.
type row struct {
	ID        int64 `gorm:"primaryKey;autoIncrement"`
	PostID    uint64
	Title     string
	Content   string
	CreatedAt time.Time
}

// tableName is no application's: the table is dropped.
const tableName = "genreport_posts"

func (row) TableName() string { return tableName }

// table stores posts.
type table struct {
	db     *gorm.DB
	sql    *sql.DB
	unique bool
	clock  *load.Clock
	insert *stage
	log    *commits
}

// openDB connects to the database, with at most so many connections.
func openDB(ctx context.Context, dsn string, pool int) (*gorm.DB, *sql.DB, error) {
	type opened struct {
		db  *gorm.DB
		sql *sql.DB
		err error
	}
	done := make(chan opened, 1)
	go func() { // GORM asks for the server's version here, and takes no context
		db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{
			// Create runs in a transaction of its own, BEGIN, INSERT and COMMIT, and
			// statements are prepared anew each time. Both are GORM's defaults, which
			// is what a program has that was written without a thought to them.
			SkipDefaultTransaction: false,
			PrepareStmt:            false,
			Logger:                 logger.Discard, // it would write each slow or failed statement
			TranslateError:         true,           // for ErrDuplicatedKey
		})
		var pool *sql.DB
		if err == nil {
			pool, err = db.DB()
		}
		done <- opened{db, pool, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, nil, fmt.Errorf("connecting to the database: %w", o.err)
		}
		o.sql.SetMaxOpenConns(pool)
		o.sql.SetMaxIdleConns(pool)
		return o.db, o.sql, nil
	case <-ctx.Done():
		go func() {
			if o := <-done; o.sql != nil {
				o.sql.Close()
			}
		}()
		return nil, nil, fmt.Errorf("connecting to the database: %w", ctx.Err())
	}
}

func openTable(ctx context.Context, job Job, clock *load.Clock) (*table, error) {
	db, pool, err := openDB(ctx, job.DSN, job.DBPool)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, pool, job.DBPool); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connecting to the database: %w", err)
	}
	return &table{db: db, sql: pool, unique: job.Unique, clock: clock, insert: newStage(), log: newCommits(clock, job.Record)}, nil
}

// fill opens all connections of a pool, so that no request waits for that: the
// channels to the broker are open from the start, too.
func fill(ctx context.Context, pool *sql.DB, n int) (err error) {
	var all []*sql.Conn
	defer func() {
		for _, c := range all {
			c.Close() // into the pool
		}
	}()
	for range n {
		c, err := pool.Conn(ctx)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	return nil
}

// add stores a post and returns once it is committed; added is false where it
// is there already, which only a unique table tells. After an error the post
// may be there: a COMMIT that was sent may have been done.
func (t *table) add(ctx context.Context, p post) (added bool, err error) {
	began := t.clock.Now()
	err = t.db.WithContext(ctx).Create(&row{PostID: p.ID, Title: p.Title, Content: p.Content}).Error
	if t.unique && errors.Is(err, gorm.ErrDuplicatedKey) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("storing the post: %w", err)
	}
	t.log.add(p.ID)
	t.insert.record(t.clock.Now() - began)
	return true, nil
}

func (t *table) ping(ctx context.Context) error { return t.sql.PingContext(ctx) }

func (t *table) close() { t.sql.Close() }

// withDB is for one-off statements.
func withDB(ctx context.Context, dsn string, use func(*gorm.DB) error) error {
	db, pool, err := openDB(ctx, dsn, 1)
	if err == nil {
		defer pool.Close()
		err = use(db.WithContext(ctx))
	}
	if err != nil {
		return errors.New(redactDSN(err.Error(), dsn))
	}
	return nil
}

// Prepare makes the table of posts anew, empty. With unique, it holds each post
// id once.
func Prepare(ctx context.Context, dsn string, unique bool) error {
	index := "INDEX"
	if unique {
		index = "UNIQUE INDEX"
	}
	return withDB(ctx, dsn, func(db *gorm.DB) error {
		if err := db.Exec("DROP TABLE IF EXISTS " + tableName).Error; err != nil {
			return fmt.Errorf("dropping the table of posts: %w", err)
		}
		err := db.Exec(fmt.Sprintf(`CREATE TABLE %s (
			id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
			post_id BIGINT UNSIGNED NOT NULL,
			title VARCHAR(%d) NOT NULL,
			content TEXT NOT NULL,
			created_at DATETIME(3) NOT NULL,
			%s posts_post_id (post_id)
		) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`, tableName, maxTitle, index)).Error
		if err != nil {
			return fmt.Errorf("creating the table of posts: %w", err)
		}
		return nil
	})
}

// Remove drops the table of posts.
func Remove(ctx context.Context, dsn string) error {
	return withDB(ctx, dsn, func(db *gorm.DB) error {
		if err := db.Exec("DROP TABLE IF EXISTS " + tableName).Error; err != nil {
			return fmt.Errorf("dropping the table of posts: %w", err)
		}
		return nil
	})
}

// Count is how many rows the table has, and how many different posts.
func Count(ctx context.Context, dsn string) (rows, distinct int, err error) {
	err = withDB(ctx, dsn, func(db *gorm.DB) error {
		var n struct{ Total, Different int }
		if err := db.Raw("SELECT COUNT(*) AS total, COUNT(DISTINCT post_id) AS different FROM " + tableName).Scan(&n).Error; err != nil {
			return fmt.Errorf("counting posts: %w", err)
		}
		rows, distinct = n.Total, n.Different
		return nil
	})
	return rows, distinct, err
}

// PostIDs tells in how many rows each post is.
func PostIDs(ctx context.Context, dsn string) (map[uint64]int, error) {
	ids := map[uint64]int{}
	err := withDB(ctx, dsn, func(db *gorm.DB) error {
		var list []struct {
			PostID uint64
			N      int
		}
		if err := db.Raw("SELECT post_id, COUNT(*) AS n FROM " + tableName + " GROUP BY post_id").Scan(&list).Error; err != nil {
			return fmt.Errorf("reading the posts' ids: %w", err)
		}
		for _, e := range list {
			ids[e.PostID] = e.N
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}
