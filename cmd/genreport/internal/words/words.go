// Package words says in the language of a page what programs say in English:
// descriptions of metrics, reasons why a number is missing, warnings of a run.
package words

import (
	"regexp"
	"strings"
	"sync"
)

// number is a run of digits that is no part of a word, or that an ordinal
// begins with.
var number = regexp.MustCompile(`\b[0-9]+(?:\.[0-9]+)?(?:\b|th\b)`)

// In is an English text in a language, and whether it is in that language.
// Reasons joined by semicolons are taken apart. What is not known, such as the
// text of a program's error, stays as it is: better exact than guessed.
func In(lang, text string) (string, bool) {
	if lang == "en" {
		return text, true
	}
	if lang != "zh" {
		return text, false
	}
	known := chinese()
	if said, ok := lookUp(known, text); ok {
		return said, true
	}
	parts := strings.Split(text, "; ")
	for i, p := range parts {
		said, ok := lookUp(known, p)
		if !ok {
			return text, false
		}
		parts[i] = said
	}
	return strings.Join(parts, "；"), true
}

// lookUp finds a text whatever its numbers are, which keep their order.
func lookUp(known map[string]string, text string) (string, bool) {
	var numbers []string
	key := number.ReplaceAllStringFunc(text, func(n string) string {
		digits := strings.TrimSuffix(n, "th")
		numbers = append(numbers, digits)
		return "#" + n[len(digits):]
	})
	said, ok := known[key]
	if !ok {
		return "", false
	}
	for _, n := range numbers {
		said = strings.Replace(said, "#", n, 1)
	}
	return said, true
}

// chinese is the Chinese of English texts. A number in either is #, in the same
// order. A text that changes in English is no longer found, rather than wrong.
var chinese = sync.OnceValue(func() map[string]string {
	return map[string]string{
		// Descriptions of metrics.
		"#th percentile of the time from the intended send to the confirm, before consumers start":                                                        "从预定的发送时刻到收到确认的时间的第 # 百分位，消费者启动之前",
		"Erlang processes for each idle connection":                                                                                                       "每条空闲连接的 Erlang 进程数",
		"Erlang processes more than with the connection alone":                                                                                            "比只有连接时多出的 Erlang 进程数",
		"Erlang processes more than without connections, once they are open":                                                                              "连接全部打开后，比没有连接时多出的 Erlang 进程数",
		"between the first and the last client's start":                                                                                                   "第一个与最后一个客户端启动之间的时间",
		"channel_max that the client answers in Connection.TuneOk":                                                                                        "客户端在 Connection.TuneOk 里回答的 channel_max",
		"channel_max that the client asks for when the server sets no limit":                                                                              "服务器不设上限时客户端请求的 channel_max",
		"channel_max that the server offers in Connection.Tune; # means no limit":                                                                         "服务器在 Connection.Tune 里给出的 channel_max；# 表示不限",
		"channels of the connection in list_connections":                                                                                                  "list_connections 里这条连接的 channel 数",
		"channels opened before the first failure":                                                                                                        "第一次失败之前打开的 channel 数",
		"connections opened per second, # at a time":                                                                                                      "每秒打开的连接数，同时打开 # 条",
		"erlang:memory(total) after the burst, more than without connections":                                                                             "一阵收发之后，erlang:memory(total) 比没有连接时多出的部分",
		"erlang:memory(total) for each idle connection, more than without them":                                                                           "每条空闲连接使 erlang:memory(total) 多出的部分",
		"erlang:memory(total) more than with the connection alone":                                                                                        "erlang:memory(total) 比只有连接时多出的部分",
		"erlang:memory(total), more than without connections, once they are open":                                                                         "连接全部打开后，erlang:memory(total) 比没有连接时多出的部分",
		"erlang:memory(total): from the lowest to the highest":                                                                                            "erlang:memory(total)：从最低到最高的幅度",
		"erlang:memory(total): highest":                                                                                                                   "erlang:memory(total)：最高值",
		"erlang:memory(total): mean time from one fall to the next, where it rises and falls":                                                             "erlang:memory(total)：有起伏时，从一次回落到下一次的平均时间",
		"erlang:memory(total): median over the seconds":                                                                                                   "erlang:memory(total)：各秒的中位数",
		"from the consumers' start until less than # % of the backlog is ready in the queue, to half a second":                                            "从消费者启动到队列里待取的积压不足 #% 的时间，精确到半秒",
		"from the first publish to the answer of the last passive declare, of the slowest client; the queue may still be taking in messages, see pending": "最慢的客户端从第一次发布到最后一个 passive declare 得到响应的时间；队列可能还在接收消息，见 pending",
		"idle connections held":              "保持的空闲连接数",
		"idle connections opened per second": "每秒打开的空闲连接数",
		"messages confirmed per second when published as fast as the queue takes them, before the measurement":           "正式测量之前，以队列能接受的最快速度发布时每秒确认的消息数",
		"messages confirmed per second, median over the seconds":                                                         "每秒确认的消息数，各秒的中位数",
		"messages published in the worst second while the backlog is consumed":                                           "消费积压期间最差的一秒里发布的消息数",
		"messages published per second before consumers start, median over the seconds":                                  "消费者启动之前每秒发布的消息数，各秒的中位数",
		"messages published per second once the backlog is gone, median over the seconds":                                "积压消费完之后每秒发布的消息数，各秒的中位数",
		"messages published per second while the backlog is consumed, median over the seconds":                           "消费积压期间每秒发布的消息数，各秒的中位数",
		"messages published per second, by the slowest client's time":                                                    "每秒发布的消息数，按最慢的客户端的时间计算",
		"messages received per second once the backlog is gone, median over the seconds":                                 "积压消费完之后每秒收到的消息数，各秒的中位数",
		"messages received per second while the backlog is consumed, median over the seconds":                            "消费积压期间每秒收到的消息数，各秒的中位数",
		"messages received per second, median over the seconds":                                                          "每秒收到的消息数，各秒的中位数",
		"messages that reached the subscriber, as a share of those published; with QoS # the broker may drop some":       "到达订阅者的消息占已发布消息的份额；QoS # 时 broker 可以丢弃一部分",
		"messages that the queue had not taken in when the last passive declare was answered; they count as published":   "最后一个 passive declare 得到响应时队列还没有接收的消息数；它们算作已发布",
		"most messages that were confirmed and not yet received, at the end of a second":                                 "已确认而尚未收到的消息数，各秒末的最大值",
		"publish_drain as a share of publish_before":                                                                     "publish_drain 与 publish_before 之比",
		"publish_worst as a share of publish_before":                                                                     "publish_worst 与 publish_before 之比",
		"resident memory after each connection has sent and received a burst, more than without connections":             "每条连接都有过一阵收发之后，常驻内存比没有连接时多出的部分",
		"resident memory of the node's Erlang VM, more than without connections, once they are open":                     "连接全部打开后，节点的 Erlang 虚拟机的常驻内存比没有连接时多出的部分",
		"resident memory of the node's Erlang VM: from the lowest to the highest":                                        "节点的 Erlang 虚拟机的常驻内存：从最低到最高的幅度",
		"resident memory of the node's Erlang VM: highest":                                                               "节点的 Erlang 虚拟机的常驻内存：最高值",
		"resident memory of the node's Erlang VM: mean time from one fall to the next, where it rises and falls":         "节点的 Erlang 虚拟机的常驻内存：有起伏时，从一次回落到下一次的平均时间",
		"resident memory of the node's Erlang VM: median over the seconds":                                               "节点的 Erlang 虚拟机的常驻内存：各秒的中位数",
		"the same once the backlog is gone":                                                                              "同上，积压消费完之后",
		"the same while the backlog is consumed":                                                                         "同上，消费积压期间",
		"the same, both read after all processes are garbage-collected":                                                  "同上，两次读数之前都先回收所有进程的垃圾",
		"the same, read after all processes are garbage-collected":                                                       "同上，读数之前先回收所有进程的垃圾",
		"time to close all of them, # at a time":                                                                         "全部关闭所用的时间，同时关闭 # 条",
		"time to open the channels, one after another":                                                                   "逐个打开全部 channel 所用的时间",
		"time to open them, one after another":                                                                           "逐个打开所用的时间",
		"user and system time of the broker's processes":                                                                 "broker 各进程的用户态与内核态 CPU 时间",
		"user and system time of the broker's processes for each message published":                                      "平均每发布一条消息，broker 各进程的用户态与内核态 CPU 时间",
		"user and system time of the clients for each message published":                                                 "平均每发布一条消息，客户端的用户态与内核态 CPU 时间",
		"user and system time of the clients, added up":                                                                  "各客户端的用户态与内核态 CPU 时间之和",
		"what RabbitMQ counts as connections' (readers, writers, channels, other), more than without them":               "RabbitMQ 记在连接名下的内存（reader、writer、channel 及其他），比没有连接时多出的部分",
		"what RabbitMQ counts as connections' after the burst, more than without them":                                   "一阵收发之后，RabbitMQ 记在连接名下的内存比没有连接时多出的部分",
		"what RabbitMQ counts as the memory of connections' processes, for each idle connection, more than without them": "RabbitMQ 记在连接进程名下的内存，每条空闲连接多出的部分",

		"the load generator's part of the machine's core time while the load ran": "负载期间，压测工具占整机核时间的比例",
		"the broker's part of it":                                                                 "broker 占的比例",
		"the database server's part of it":                                                        "数据库服务器占的比例",
		"posts answered with success per second, as wrk counts them":                              "每秒响应成功的帖子数，由 wrk 计数",
		"posts answered with success":                                                             "响应成功的帖子数",
		"answers that were no success, and connections that broke":                                "不成功的响应与断开的连接数",
		"standard deviation of that time, as wrk says":                                            "该时间的标准差，由 wrk 给出",
		"longest such time, as wrk says":                                                          "该时间的最大值，由 wrk 给出",
		"median of that time, as wrk says":                                                        "该时间的中位数，由 wrk 给出",
		"#th percentile of that time, as wrk says":                                                "该时间的第 # 百分位，由 wrk 给出",
		"rows committed to the database per second while the load ran":                            "负载期间每秒提交到数据库的行数",
		"rows committed by the end of the load, as a share of the posts accepted":                 "负载结束时已提交的行数与已接受的帖子数之比",
		"posts accepted that were not in the database when the load ended":                        "负载结束时已接受而不在数据库里的帖子数",
		"posts that were to be sent per second":                                                   "每秒预定发送的帖子数",
		"posts answered with success per second":                                                  "每秒响应成功的帖子数",
		"median of the time from the intended send to the answer":                                 "从预定的发送时刻到响应的时间的中位数",
		"#th percentile of the time from the intended send to the answer":                         "从预定的发送时刻到响应的时间的第 # 百分位",
		"median of the time from the intended send until its row is committed":                    "从预定的发送时刻到该行提交的时间的中位数",
		"#th percentile of the time from the intended send until its row is committed":            "从预定的发送时刻到该行提交的时间的第 # 百分位",
		"posts that were in the database a set time after the load, as a share of those accepted": "负载结束后限定时间内入库的帖子占已接受帖子的份额",
		"posts waiting in the queue when the load ended":                                          "负载结束时队列里等待的帖子数",
		"posts sent more than a millisecond after their time, as a share":                         "比预定时刻晚一毫秒以上才发出的帖子的份额",
		"posts answered with an error, or not at all":                                             "响应错误或没有响应的帖子数",
		"median time of an insert with its commit":                                                "插入连同提交所用时间的中位数",
		"#th percentile of the time of an insert with its commit":                                 "插入连同提交所用时间的第 # 百分位",
		"median time of a publish; with confirms, until the confirm":                              "发布所用时间的中位数；带确认时算到确认为止",
		"#th percentile of the time of a publish; with confirms, until the confirm":               "发布所用时间的第 # 百分位；带确认时算到确认为止",
		"posts answered with success per second, in a closed loop":                                "闭环里每秒响应成功的帖子数",
		"median time from a request to its answer, in a closed loop":                              "闭环里从请求到响应的时间的中位数",
		"#th percentile of the time from a request to its answer, in a closed loop":               "闭环里从请求到响应的时间的第 # 百分位",
		"posts sent":                   "发出的帖子数",
		"posts answered with an error": "响应错误的帖子数",
		"posts without any answer":     "没有任何响应的帖子数",
		"posts in the queue while nobody consumed, as the management API tells":                                          "没有消费者时队列里的帖子数，由管理接口给出",
		"rows in the database at the end":                                                                                "最后数据库里的行数",
		"posts answered with success that are not in the database":                                                       "响应成功却不在数据库里的帖子数",
		"rows of a post that was in the database already":                                                                "帖子已在库里而又写入的行数",
		"posts in the database though they were answered with an error or not at all":                                    "响应错误或没有响应却在数据库里的帖子数",
		"deliveries that the broker marked as redelivered":                                                               "broker 标为重新投递的次数",
		"longest time without a successful answer":                                                                       "没有成功响应的最长时间",
		"the API's part of it, all instances":                                                                            "API 占的比例，所有实例",
		"the consumers' part of it":                                                                                      "消费者占的比例",
		"the part of it that nobody took":                                                                                "空闲的比例",
		"mean time from a request to its answer, as wrk says, with the samples that it adds for what a stall held up":    "从请求到响应的平均时间，由 wrk 给出，包含它为停顿补进去的样本",
		"answers that took # s or more; wrk leaves these out of the latencies":                                           "用了 # 秒以上的响应数；wrk 不把它们计入延迟",
		"median time in which the disk takes # KiB for good (fdatasync)":                                                 "磁盘把 # KiB 存好（fdatasync）所用时间的中位数",
		"posts answered per second in a closed loop, just before, without its first second: what the load is a share of": "刚才在闭环里每秒响应的帖子数，不含第一秒：负载是它的一个比例",
		"posts answered with an error, or not at all; in the latencies they rank behind all others":                      "响应错误或没有响应的帖子数；在延迟里排在所有其他帖子之后",
		"from the load's end until the broker was dead":                                                                  "从负载结束到 broker 死掉的时间",
		"consumers killed while they worked":                                                                             "干活途中被杀的消费者数",

		// Reasons why there is no number.
		"a case of idle connections publishes nothing":            "这一情形只保持空闲连接，不发布消息",
		"a case that publishes tells nothing of idle connections": "这一情形发布消息，不反映空闲连接",
		"interrupted":                    "测量被中断",
		"no confirm came in this second": "这一秒里没有收到确认",
		"no period: it rises and falls by less than # % of its median":  "没有周期：起伏不到中位数的 #%",
		"no period: it fell # times, and a period needs #":              "没有周期：只回落了 # 次，至少要 # 次",
		"no reason was recorded":                                        "没有记录原因",
		"no repeats":                                                    "没有重复测量",
		"nothing is consumed":                                           "不消费",
		"nothing was said":                                              "程序没有输出",
		"published without confirms":                                    "发布时没有开启确认",
		"published without the mandatory flag":                          "发布时没有设置 mandatory",
		"run too short: no whole second":                                "测量太短，不满一秒",
		"run too short for an amplitude":                                "测量太短，看不出幅度",
		"run too short for a period":                                    "测量太短，看不出周期",
		"the backlog was not gone":                                      "积压没有消费完",
		"the backlog was not gone after # s, where the attempt ends":    "到 # 秒为止，积压没有消费完",
		"the experiment did not measure it":                             "这个实验没有测量它",
		"the reading before it took longer":                             "前一次读数用时过长",
		"the repeats differ":                                            "各次重复的结果不同",
		"there was nothing to compare with":                             "没有可以相比的数",
		"one case was measured, and a slope needs two":                  "只测了一种情形，斜率至少要两种",
		"not recorded at this second":                                   "这一秒没有记录",
		"not supported: this version has no plugin rabbitmq_web_mqtt":   "这个版本没有插件 rabbitmq_web_mqtt",
		"not supported: this version does not tell it":                  "这个版本不提供这项数据",
		"no failure up to # channels, where the attempt ends":           "直到第 # 个 channel 都没有失败，尝试到此为止",
		"# confirms are too few for this percentile":                    "只有 # 个确认，不足以给出这个百分位",
		"there was no load while something was away":                    "出事期间没有负载",
		"consumers ran all the time":                                    "消费者一直在运行",
		"this way of answering has no such stage":                       "这种方式没有这一步",
		"nothing was answered":                                          "没有任何响应",
		"# are too few for this percentile":                             "只有 # 个，不足以给出这个百分位",
		"# % of them were not in the database # s after the load ended": "有 #% 的帖子，在负载结束 # 秒后仍不在数据库里",

		"fewer than # repeats: no # % interval": "重复不足 # 次：不给出 # % 区间",

		// Words of ours among what programs said.
		"server": "服务器",
		"client": "客户端",
		"both":   "双方",
		"nobody": "没有谁",

		// Warnings of a run, and of what kind its machine was.
		"virtual machine": "虚拟机",
		"the data of brokers and databases is in memory (tmpfs), where writing to disk costs nothing: set TMPDIR to a directory on a disk": "broker 和数据库的数据放在内存里（tmpfs），写盘没有代价：请把 TMPDIR 设为磁盘上的目录",
		"the machine was not steady: the rate of the control load moved by up to # % within the run, more than # %":                        "机器状态不稳：测量期间对照负载的速率最多变动了 #%，超过 #%",
	}
})
