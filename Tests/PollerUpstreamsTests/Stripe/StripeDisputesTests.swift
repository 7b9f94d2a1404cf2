import PollerHints
import PollerIdentity
import StripeAPI
import Testing

@testable import PollerPayments
@testable import PollerUpstreams

@Suite("Disputes of accounts, read from Stripe", .timeLimit(.minutes(5)))
struct StripeDisputesTests {
    private func reader(_ server: StubServer, key: String = "sk_test_1") throws -> StripeDisputes {
        let configuration = StripeClientConfiguration(
            key: StripeKey(key),
            baseURL: "http://127.0.0.1:\(server.port)"
        )
        return StripeDisputes(accounts: StripeAccounts([.main: configuration]))
    }

    @Test("each dispute has its deadline, its charge, and whether it requires a response")
    func read() async throws {
        try await StubServer.run { server in
            server.answer(
                StubServer.Answer(
                    body: """
                        {"object":"list","has_more":false,"url":"/v1/disputes","data":[
                        {"id":"dp_1","object":"dispute","status":"needs_response","amount":1099,"currency":"eur",
                        "reason":"fraudulent","charge":"ch_1","payment_intent":"pi_1","created":1795000000,
                        "evidence_details":{"due_by":1796000000,"has_evidence":false},"livemode":false},
                        {"id":"dp_2","object":"dispute","status":"won","amount":5,"currency":"eur","charge":"ch_2",
                        "evidence_details":{"due_by":null},"livemode":false}]}
                        """
                )
            )
            let found = try await reader(server).disputes(of: .main)
            let first = try #require(found.first)
            #expect(first.id == "dp_1" && first.needsResponse && !first.isClosed)
            #expect(first.dueAt == Timestamp(ms: 1_796_000_000_000))
            #expect(first.createdAt == Timestamp(ms: 1_795_000_000_000))
            #expect(first.amount == 1099 && first.currency == "eur")
            #expect(first.charge?.description == "ch_1" && first.intent?.description == "pi_1")
            let last = try #require(found.last)
            #expect(last.isClosed && !last.needsResponse && last.dueAt == nil)
        }
    }

    @Test("an error does not contain the key, and a publishable key is not tried")
    func unreadable() async throws {
        try await StubServer.run { server in
            server.answer(
                StubServer.Answer(
                    status: 401,
                    body: #"{"error":{"type":"invalid_request_error","message":"Invalid API Key"}}"#
                )
            )
            let reader = try reader(server)
            #expect(reader.disputedAccounts == [.main])
            do throws(DisputeReadFailure) {
                _ = try await reader.disputes(of: .main)
                Issue.record("it was read")
            } catch {
                #expect(!error.reason.isEmpty && !error.reason.contains("sk_test_1"))
            }
            #expect(try self.reader(server, key: "pk_test_1").disputedAccounts.isEmpty)
        }
    }
}
