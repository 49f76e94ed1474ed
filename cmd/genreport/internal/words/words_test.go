package words

import "testing"

func TestIn(t *testing.T) {
	for text, want := range map[string]string{
		"server": "服务器", "client": "客户端", "both": "双方", "nobody": "没有谁", // limited_by of channel-limit
		"fewer than 6 repeats: no 95 % interval":           "重复不足 6 次\uff1a不给出 95 % 区间",
		"idle connections held":                            "保持的空闲连接数",
		"no period: it fell 2 times, and a period needs 3": "没有周期\uff1a只回落了 2 次\uff0c至少要 3 次",
		"no period: it rises and falls by less than 25 % of its median; no period: it fell 1 times, and a period needs 3":                                 "没有周期\uff1a起伏不到中位数的 25%\uff1b没有周期\uff1a只回落了 1 次\uff0c至少要 3 次",
		"the machine was not steady: the rate of the control load moved by up to 26.2 % within the run, more than 5 %":                                    "机器状态不稳\uff1a测量期间对照负载的速率最多变动了 26.2%\uff0c超过 5%",
		"99th percentile of the time from the intended send to the confirm, before consumers start":                                                       "从预定的发送时刻到收到确认的时间的第 99 百分位\uff0c消费者启动之前",
		"from the first publish to the answer of the last passive declare, of the slowest client; the queue may still be taking in messages, see pending": "最慢的客户端从第一次发布到最后一个 passive declare 得到响应的时间\uff1b队列可能还在接收消息\uff0c见 pending",
	} {
		if got, ok := In("zh", text); !ok || got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	// An error of a program is not guessed at, and nor is half of a text.
	for _, text := range []string{"failed: dial tcp: refused", "nothing is consumed; failed: dial tcp", ""} {
		if got, ok := In("zh", text); ok || got != text {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	if got, ok := In("en", "anything"); !ok || got != "anything" {
		t.Errorf("English: %q, %v", got, ok)
	}
}
