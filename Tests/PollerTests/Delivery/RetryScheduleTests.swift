import PollerDeliveries
import PollerIdentity
import PollerTesting
import Testing

@Suite("RetrySchedule")
struct RetryScheduleTests {
    @Test("each wait has 20 % jitter, and there is none after the last")
    func waits() throws {
        var generator = SeededGenerator(seed: 21)
        for schedule in [RetrySchedule.webhook, .email] {
            for (index, wanted) in schedule.waits.enumerated() {
                for _ in 0..<20 {
                    let wait = try #require(schedule.wait(failures: index + 1, using: &generator))
                    #expect(wait.inSeconds >= wanted.inSeconds * 0.8 - 0.001)
                    #expect(wait.inSeconds <= wanted.inSeconds * 1.2)
                }
            }
            #expect(schedule.wait(failures: schedule.waits.count + 1, using: &generator) == nil)
            #expect(schedule.wait(failures: 0, using: &generator) == nil)
            #expect(schedule.wait(failures: .max, using: &generator) == nil)
        }
    }

    @Test("webhooks get 13 attempts over 75 h 42 min, and mail 10 over 27 h 51 min")
    func totals() {
        let webhook = RetrySchedule.webhook.waits
        #expect(webhook.count == 12)
        #expect(webhook.reduce(Duration.zero, +).text == "272555s")
        let email = RetrySchedule.email.waits
        #expect(email.count == 9)
        #expect(email.reduce(Duration.zero, +).text == "1671m")
    }

    @Test("a schedule has at most 20 waits")
    func bound() {
        #expect(RetrySchedule(waits: Array(repeating: .zero, count: 99)).waits.count == 20)
    }
}

@Suite("Excerpt")
struct ExcerptTests {
    @Test(
        "control characters are replaced",
        arguments: [
            ("a\u{1B}[2Jb", "a\u{FFFD}[2Jb"), ("a\r\nb\tc", "a\u{FFFD}\nb\tc"),
            ("\u{0}\u{7F}\u{9B}", "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ("x\u{202E}y\u{2028}z", "x\u{FFFD}y\u{FFFD}z"), ("größe €", "größe €"),
        ]
    )
    func control(text: String, shown: String) {
        #expect(Excerpt.text(text.utf8) == shown)
    }

    @Test("an excerpt has at most 1 KiB and ends between characters")
    func bounded() {
        let long = Excerpt.text(String(repeating: "€", count: 5000).utf8)
        #expect(long.utf8.count <= Excerpt.bytesMax && long.utf8.count > Excerpt.bytesMax - 4)
        #expect(Excerpt.text([0xFF, 0x41]) == "\u{FFFD}A")
        #expect(Excerpt.text(Array(repeating: 0xFF, count: 9000)).utf8.count <= Excerpt.bytesMax)
    }
}
