import PollerHints
import PollerIdentity
import StripeAPI
import Testing

@testable import PollerPayments
@testable import PollerUpstreams

@Suite("The owner of a charge, read from Stripe", .timeLimit(.minutes(5)))
struct StripeEventsTests {
    private func events(_ server: StubServer, key: String = "sk_test_1") -> StripeEvents {
        let configuration = StripeClientConfiguration(
            key: StripeKey(key),
            baseURL: "http://127.0.0.1:\(server.port)"
        )
        return StripeEvents(accounts: StripeAccounts([.main: configuration]))
    }

    private static let charge = ChargeID(unchecked: "ch_1")

    @Test(
        "a charge that the key may not read has no known owner",
        arguments: [
            (403, "more_permissions_required"), (403, "account_invalid"), (404, "resource_missing"),
        ]
    )
    func forbidden(status: Int, code: String) async throws {
        try await StubServer.run { server in
            let error = #"{"error":{"type":"invalid_request_error","code":"\#(code)"}}"#
            server.answer(StubServer.Answer(status: status, body: error))
            let owner = try await events(server).subject(ofCharge: Self.charge, in: .main)
            #expect(owner == nil)
        }
    }

    @Test("a revoked key is an error, and a publishable key is not tried")
    func keys() async throws {
        try await StubServer.run { server in
            let error = #"{"error":{"type":"invalid_request_error","message":"Invalid API Key"}}"#
            server.answer(StubServer.Answer(status: 401, body: error))
            await #expect(throws: AccountEventsFailure.self) {
                try await events(server).subject(ofCharge: Self.charge, in: .main)
            }
            let before = server.requests.count
            let publishable = events(server, key: "pk_test_1")
            let owner = try await publishable.subject(ofCharge: Self.charge, in: .main)
            #expect(owner == nil)
            #expect(server.requests.count == before)
        }
    }
}
