import NIOHTTP1
import StripeAPI
import Testing

@testable import StripeSandbox

@Suite struct SandboxTimeTests {
    /// The test uses the sandbox clock and does not wait for an hour.
    @Test("skipping an hour expires sources, each at its own time")
    func skipped() async throws {
        let configuration = SandboxConfiguration(nowMs: { 1_700_000_000_000 })
        try await SandboxProbe.run(configuration) { probe in
            let first = try await probe.makeSource().id
            _ = try await probe.control(.POST, "clock/advance", #"{"seconds":1800}"#)
            let second = try await probe.makeSource().id
            _ = try await probe.control(.POST, "clock/advance", #"{"seconds":3000}"#)
            let client = probe.client()
            #expect(try await client.retrieveSource(first).status == .canceled)
            #expect(try await client.retrieveSource(second).status == .pending)
            _ = try await probe.control(.POST, "clock/advance", #"{"seconds":1000}"#)
            #expect(try await client.retrieveSource(second).status == .canceled)
            let (_, body) = try await probe.control(.GET, "clock")
            #expect(body["skipped_ms"] == .integer(5_800_000))
            let events = try await client.get("/v1/events").decode(StripeList<JSONValue>.self)
            #expect(
                events.data.map { $0["created"] }
                    == [.integer(1_700_005_400), .integer(1_700_003_600)]
            )
        }
    }
}

@Suite struct TimerQueueTests {
    @Test("timers fire in order of their time, those of the same millisecond in order of creation")
    func order() {
        var queue = TimerQueue()
        // 7 and 101 have no common factor: every due time occurs once, in a scattered order.
        for number in 0..<101 { queue.set(.attempt(number), atMs: Int64(number * 7 % 101)) }
        for number in 101..<104 { queue.set(.attempt(number), atMs: 50) }
        #expect(queue.firstDueMs == 0)
        var taken: [(Int, Int64)] = []
        while let (timer, dueMs) = queue.take(dueBy: 60) {
            guard case .attempt(let number) = timer else { continue }
            taken.append((number, dueMs))
        }
        #expect(taken.map(\.1) == taken.map(\.1).sorted())
        #expect(taken.count == 61 + 3)
        #expect(taken.filter { $0.1 == 50 }.map(\.0).suffix(3) == [101, 102, 103])
        #expect(queue.firstDueMs == 61)
    }

    @Test("time is scaled, and skipped time stays skipped")
    func scaled() {
        var time = SandboxTime(startMs: 1_000_000, scale: 3600)
        #expect(time.nowMs(machineMs: 1_000_000) == 1_000_000)
        #expect(time.nowMs(machineMs: 1_001_000) == 1_000_000 + 3_600_000)
        #expect(time.machineMs(for: 3_600_000) == 1000)
        #expect(time.machineMs(for: 1) == 1, "a zero wait would spin")
        time.skip(500)
        #expect(time.nowMs(machineMs: 1_000_000) == 1_000_500)
    }
}

@Suite struct SourceExpiryTests {
    private static let hourMs: Int64 = 3_600_000

    @Test(
        "each type expires after its documented time, pending and chargeable",
        arguments: [
            ("bancontact", 1, 6), ("giropay", 1, 6), ("ideal", 1, 6), ("sofort", 1, 6),
            ("p24", 1, 6), ("eps", 1, 6), ("klarna", 1, 6), ("three_d_secure", 1, 6),
            ("multibanco", 7 * 24, 6), ("card", nil, nil), ("ach_credit_transfer", nil, nil),
            ("sepa_debit", 10 * 24, nil),
        ] as [(String, Int64?, Int64?)]
    )
    func table(type: String, pending: Int64?, chargeable: Int64?) throws {
        let expiry = try #require(SourceKind.all[type]).expiry
        #expect(expiry.endMs(status: "pending", nowMs: 5) == pending.map { 5 + $0 * Self.hourMs })
        #expect(
            expiry.endMs(status: "chargeable", nowMs: 5) == chargeable.map { 5 + $0 * Self.hourMs }
        )
        #expect(expiry.endMs(status: "consumed", nowMs: 5) == nil)
    }

    /// 15:45 UTC is 23:45 in China, which has no daylight saving time.
    @Test(
        "Alipay and WeChat Pay expire with the Chinese day or after six hours, whichever is first",
        arguments: [(8.0, 14.0), (10.0, 15.75), (15.5, 15.75), (15.75, 21.75), (23.0, 29.0)]
    )
    func chineseDay(from: Double, to: Double) throws {
        for type in ["alipay", "wechat"] {
            let expiry = try #require(SourceKind.all[type]).expiry
            let dayMs = 20_000 * 24 * Self.hourMs
            let end = expiry.endMs(
                status: "chargeable",
                nowMs: dayMs + Int64(from * Double(Self.hourMs))
            )
            #expect(end == dayMs + Int64(to * Double(Self.hourMs)))
        }
    }
}

@Suite struct WebhookScheduleTests {
    @Test("delays double up to three days, and end with the last attempt")
    func pauses() {
        let few = WebhookSchedule(tries: 3, firstPauseMs: 1000)
        #expect((1...3).map { few.pauseMs(after: $0) } == [1000, 2000, nil])
        let many = WebhookSchedule(tries: 100, firstPauseMs: 3_600_000)
        #expect(many.pauseMs(after: 8) == WebhookSchedule.pauseMaxMs)
        #expect(many.pauseMs(after: 99) == WebhookSchedule.pauseMaxMs)
    }
}
