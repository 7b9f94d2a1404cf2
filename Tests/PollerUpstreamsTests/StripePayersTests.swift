import Foundation
import Poller
import PollerIdentity
import PollerUpstreams
import StripeAPI
import Testing

@Suite("Codes that payers hand in at Stripe")
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
        "wrong values cost one try however often they come, right ones none, and right stays right"
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
        "the last wrong one says that no tries are left, and so does one that comes too late",
        arguments: [["10", "11"], ["40", "41"]]
    )
    func exhausted(values: [String]) async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            #expect(try await verify(rig, id, values) == .exhausted)
            // The next poll of the watch reports the outcome of any further attempt.
            guard case .unknown = try await verify(rig, id, ["32", "45"]) else {
                Issue.record("a source that has ended refuses nothing")
                return
            }
        }
    }

    @Test("an answer that got lost is unknown, and the same values again are the same try")
    func lost() async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            try await fault(rig, id, "reset", ",\"times\":1,\"after\":true")
            guard case .unknown = try await verify(rig, id, ["1", "2"]) else {
                Issue.record("nobody knows")
                return
            }
            #expect(try await verify(rig, id, ["1", "2"]) == .refused(attemptsLeft: nil))
            #expect(try await left(rig, id) == 4)
        }
    }

    @Test(
        "no answer is never a wrong code",
        arguments: [",\"status\":500", ",\"status\":429", ",\"status\":403", ",\"status\":401"]
    )
    func unanswered(status: String) async throws {
        try await UpstreamRig.run { rig in
            let id = try await debit(rig)
            try await fault(rig, id, "status", status + ",\"times\":1")
            let result = try await verify(rig, id, ["32", "45"])
            guard case .unknown = result else {
                Issue.record("\(result)")
                return
            }
            #expect(try await left(rig, id) == 5)
        }
    }

    @Test("without a key nobody is told")
    func unserved() async throws {
        try await UpstreamRig.run { rig in
            let result = try await verify(rig, rig.source, ["1"], key: nil)
            guard case .unknown(let why) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(why.contains("no API key"))
        }
    }
}
