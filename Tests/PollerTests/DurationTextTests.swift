import Poller
import PollerTesting
import Testing

@Suite("Duration as text")
struct DurationTextTests {
    @Test(
        "is read as users write it",
        arguments: [
            ("250ms", 250), ("0s", 0), ("90s", 90_000), ("5m", 300_000), ("36h", 129_600_000),
            ("30d", 2_592_000_000), ("007s", 7000),
        ]
    )
    func reads(_ text: String, _ ms: Int64) {
        #expect(Duration(text: text) == .milliseconds(ms))
    }

    @Test(
        "nothing else is a span",
        arguments: [
            "", "s", "ms", "5", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5s", "5S", "5m5s", "٣s",
            "5w", "9223372036854775807d", "99999999999999999999s", "36525d", "0x5s", "5\u{0}s",
        ]
    )
    func rejects(_ text: String) {
        #expect(Duration(text: text) == nil)
    }

    @Test("is written in the largest unit that divides it")
    func writes() {
        let wanted: [(Int64, String)] = [
            (0, "0ms"), (250, "250ms"), (90_000, "90s"), (300_000, "5m"), (129_600_000, "36h"),
            (86_400_000, "1d"), (1001, "1001ms"),
        ]
        for (ms, text) in wanted { #expect(Duration.milliseconds(ms).text == text) }
    }

    @Test("reads back what it wrote")
    func roundTrip() {
        var chance = SeededGenerator(seed: 31)
        for _ in 0..<1000 {
            let span = Duration.milliseconds(
                Int64.random(in: 0..<3_155_760_000_000, using: &chance)
            )
            #expect(Duration(text: span.text) == span)
        }
    }

    @Test("milliseconds are cut toward zero")
    func ms() {
        #expect(Duration.microseconds(1999).ms == 1)
        #expect(Duration.microseconds(-1999).ms == -1)
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
    }
}
