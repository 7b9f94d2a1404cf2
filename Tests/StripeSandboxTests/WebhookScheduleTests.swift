import Testing

@testable import StripeSandbox

@Suite struct WebhookScheduleTests {
    @Test("pauses double up to three days, and end with the last try")
    func pauses() {
        let few = WebhookSchedule(tries: 3, firstPauseMs: 1000)
        #expect((1...3).map { few.pauseMs(after: $0) } == [1000, 2000, nil])
        let many = WebhookSchedule(tries: 100, firstPauseMs: 3_600_000)
        #expect(many.pauseMs(after: 8) == WebhookSchedule.pauseMaxMs)
        #expect(many.pauseMs(after: 99) == WebhookSchedule.pauseMaxMs)
    }
}
