import Foundation
import Poller
import PollerIdentity
import PollerUpstreams
import PollerWatches
import StripeAPI
import Testing

@Suite("Verification codes that payers submit to Stripe")
struct StripePayersTests {
    /// Creates a source whose customer enters the amounts of two deposits.
    private func debit(_ rig: UpstreamRig) async throws -> String {
        struct Made: Decodable { let id: String }
        return try await rig.sandbox.post(
            "/v1/sources",
            form: [
                ("type", "ach_debit"), ("currency", "usd"), ("flow", "code_verification"),
                ("owner[name]", "Jenny Rosen"), ("ach_debit[routing_number]", "110000000"),
                ("ach_debit[account_number]", "000123456789"),
                ("ach_debit[account_holder_type]", "individual"),
            ]
        ).decode(Made.self).id
    }

    private func verify(
        _ rig: UpstreamRig,
        _ id: String,
        _ values: [String],
        key: String? = "sk_test_1",
        timeout: Duration = .seconds(8)
    ) async throws -> VerificationResult {
        let configurations = key.map {
            [AccountID.main: StripeClientConfiguration(key: StripeKey($0), baseURL: rig.base)]
        }
        let payers = StripePayers(accounts: StripeAccounts(configurations ?? [:]))
        let start = Timestamp(ms: 1_795_000_000_000)
        let watch = Watch(
            key: WatchKey(account: .main, source: SourceID(unchecked: id), kind: .source),
            policy: .standard,
            createdAt: start,
            deadline: start + .seconds(3600),
            run: 1,
            seq: 0
        )
        return await payers.verify(watch, with: try VerificationValues(values), timeout: timeout)
    }

    private func fault(
        _ rig: UpstreamRig,
        _ id: String,
        _ mode: String,
        _ members: String
    ) async throws {
        let body =
            "{\"match\":\"/v1/sources/\(id)/verify\",\"method\":\"POST\",\"mode\":\"\(mode)\"\(members)}"
        let reply = try await Control(base: rig.base).post("/_sandbox/faults", json: body)
        guard reply == 201 else { throw RigFailure(description: "fault \(mode): \(reply)") }
    }

    private func left(_ rig: UpstreamRig, _ id: String) async throws -> Int? {
        try await rig.sandbox.retrieveSource(id).verification?.attemptsRemaining
    }

    @Test(
        "repeated wrong values use one attempt, and right values use none and stay accepted"
    )
    func tries() async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            for _ in 1...3 {
                #expect(try await verify(rig, id, ["1", "2"]) == .refused(attemptsLeft: nil))
            }
            #expect(try await left(rig, id) == 4)
            #expect(try await verify(rig, id, ["1", "3"]) == .refused(attemptsLeft: nil))
            #expect(try await left(rig, id) == 3)
            #expect(try await verify(rig, id, ["32", "45"]) == .accepted)
            #expect(try await verify(rig, id, ["32", "45"]) == .accepted)
            #expect(try await rig.sandbox.retrieveSource(id).status == .chargeable)
        }
    }

    @Test(
        "the last wrong value reports that no attempts are left, and a later value is unknown",
        arguments: [["10", "11"], ["40", "41"]]
    )
    func exhausted(values: [String]) async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            #expect(try await verify(rig, id, values) == .exhausted)
            // The next poll of the watch reports the outcome of any further attempt.
            guard case .unknown = try await verify(rig, id, ["32", "45"]) else {
                return fail("a source that has ended refuses nothing")
            }
        }
    }

    @Test("a lost response is unknown, and repeating the same values uses no further attempt")
    func lost() async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            try await fault(rig, id, "reset", ",\"times\":1,\"after\":true")
            guard case .unknown = try await verify(rig, id, ["1", "2"]) else {
                return fail("nobody knows")
            }
            #expect(try await verify(rig, id, ["1", "2"]) == .refused(attemptsLeft: nil))
            #expect(try await left(rig, id) == 4)
        }
    }

    @Test(
        "a failed request never counts as a wrong code",
        arguments: [",\"status\":500", ",\"status\":429", ",\"status\":403", ",\"status\":401"]
    )
    func unanswered(status: String) async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            try await fault(rig, id, "status", status + ",\"times\":1")
            let result = try await verify(rig, id, ["32", "45"])
            guard case .unknown = result else { return fail("\(result)") }
            #expect(try await left(rig, id) == 5)
        }
    }

    @Test("without a key the result is unknown and names the missing key")
    func unserved() async throws {
        try await UpstreamRig.run { rig in
            let result = try await verify(rig, rig.source, ["1"], key: nil)
            guard case .unknown(let why) = result else { return fail("\(result)") }
            #expect(why.contains("no API key"))
        }
    }
}
