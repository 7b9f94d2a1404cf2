import NIOHTTP1
import StripeAPI
import StripeSandbox
import Testing

@Suite struct SandboxTimeTests {
    /// Only what the clock says counts: no test here waits for an hour.
    @Test("a skipped hour cancels what an hour cancels, each at its own time")
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
