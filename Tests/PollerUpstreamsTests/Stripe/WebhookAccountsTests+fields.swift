import PollerHints
import PollerIdentity
import PollerRedis
import PollerUpstreams
import PollerWatches
import Testing

/// Tests the fields in which an event names its account.
extension WebhookAccountsTests {
    @Test(
        "the signer must act for the account, whichever field names it",
        arguments: ["account", "context", "user_id"]
    )
    func fields(_ field: String) async throws {
        try await AccountRig.run { rig in
            let intake = intake(rig, events: StripeOf(accounts: Set(Self.watched)))
            for (number, claim) in Self.claims.enumerated() {
                let source = "src_\(number)"
                _ = try await rig.watches.enqueue(
                    Self.watched.map { try NewWatch(key: Self.key($0, source)) }
                )
                let body = Self.event(
                    "evt_\(number)",
                    "source.failed",
                    account: claim,
                    object: #"{"id":"\#(source)"}"#
                )
                .replacing(#""account":"#, with: #""\#(field)":"#)
                let owner: AccountID? =
                    switch claim {
                    case nil, "null": Self.platform
                    case #""acct_7""#: AccountID(unchecked: "acct_7")
                    default: nil
                    }
                let outcome = try await receive(intake, body, at: Self.platform)
                #expect(outcome.name == (owner == nil ? "ignored" : "accepted"), "\(claim ?? "-")")
                for account in Self.watched {
                    let watch = try await rig.watches.snapshot(of: Self.key(account, source))?.watch
                    #expect(
                        (watch?.hintedAt != nil) == (account == owner),
                        "\(claim ?? "-"), \(account)"
                    )
                }
            }
        }
    }

    @Test(
        "an event that names two accounts is ignored, and one that repeats its account is accepted"
    )
    func severalNames() async throws {
        try await AccountRig.run { rig in
            let intake = intake(rig, events: StripeOf(accounts: Set(Self.watched)))
            let seven = AccountID(unchecked: "acct_7")
            _ = try await rig.watches.enqueue([try NewWatch(key: Self.key(seven, "src_1"))])
            for (other, name) in [("acct_7", "accepted"), ("acct_8", "ignored"), ("", "ignored")] {
                let body = Self.event(
                    "evt_\(other)",
                    "source.failed",
                    account: #""acct_7""#,
                    object: #"{"id":"src_1"}"#
                )
                .replacing(#""livemode""#, with: #""context":"\#(other)","livemode""#)
                #expect(try await receive(intake, body, at: Self.platform).name == name, "\(other)")
            }
        }
    }
}
