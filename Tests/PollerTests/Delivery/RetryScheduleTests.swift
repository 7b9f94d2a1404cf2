import Poller
import PollerTesting
import Testing

@Suite("RetrySchedule")
struct RetryScheduleTests {
    @Test("each wait is jittered by 20 %, and after the last there is none")
    func waits() throws {
        var chance = SeededGenerator(seed: 21)
        for schedule in [RetrySchedule.webhook, .email] {
            for (index, wanted) in schedule.waits.enumerated() {
                for _ in 0..<20 {
                    let wait = try #require(schedule.wait(failures: index + 1, using: &chance))
                    #expect(wait.inSeconds >= wanted.inSeconds * 0.8 - 0.001)
                    #expect(wait.inSeconds <= wanted.inSeconds * 1.2)
                }
            }
            #expect(schedule.wait(failures: schedule.waits.count + 1, using: &chance) == nil)
            #expect(schedule.wait(failures: 0, using: &chance) == nil)
            #expect(schedule.wait(failures: .max, using: &chance) == nil)
        }
    }

    @Test("webhooks get 13 attempts over 75 h 42 min, mail 10 over 27 h 51 min")
    func totals() {
        let webhook = RetrySchedule.webhook.waits
        #expect(webhook.count == 12)
        #expect(webhook.reduce(Duration.zero, +).text == "272555s")
        let email = RetrySchedule.email.waits
        #expect(email.count == 9)
        #expect(email.reduce(Duration.zero, +).text == "1671m")
    }

    @Test("a schedule is never longer than 20 waits")
    func bound() {
        #expect(RetrySchedule(waits: Array(repeating: .zero, count: 99)).waits.count == 20)
    }
}
