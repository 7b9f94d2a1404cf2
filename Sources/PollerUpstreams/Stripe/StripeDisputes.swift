package import PollerHints
package import PollerIdentity
import PollerPayments
import SafeNumbers
import StripeAPI

/// Stripe's list of an account's disputes.
///
/// It reads one page with the newest hundred. An account with more open disputes is in Stripe's dispute program and
/// uses Stripe's own pages.
/// *Source*: <https://docs.stripe.com/api/disputes/list>.
package struct StripeDisputes: DisputeReader {
    /// The limit for a request; an operator waits for the response.
    private static let timeout = Duration.seconds(10)

    private let accounts: StripeAccounts

    /// Creates a reader that uses the credentials of each account.
    package init(accounts: StripeAccounts) {
        self.accounts = accounts
    }

    /// The accounts whose keys can list disputes.
    ///
    /// A publishable key cannot, and an organisation has no disputes itself.
    package var disputedAccounts: [AccountID] {
        accounts.named.filter { account in
            accounts.client(for: account).map { $0.configuration.key.kind != .publishable } ?? false
        }
    }

    package func disputes(
        of account: AccountID
    ) async throws(DisputeReadFailure) -> [AccountDispute] {
        guard var client = accounts.client(for: account)?.readingPages else {
            throw DisputeReadFailure("no API key is configured for account \(account)")
        }
        client.configuration.timeout = Self.timeout
        do throws(StripeError) {
            return try await client.listDisputes().data.map { AccountDispute($0, of: account) }
        } catch {
            throw DisputeReadFailure("\(error)")
        }
    }
}

extension AccountDispute {
    /// Converts a Stripe dispute.
    init(_ dispute: Dispute, of account: AccountID) {
        func time(_ seconds: Int?) -> Timestamp? {
            seconds.map { Timestamp(ms: Int64(clamping: $0.multipliedSaturating(by: 1000))) }
        }
        self.init(
            id: dispute.id,
            account: account,
            status: dispute.status.rawValue,
            needsResponse: dispute.status.rawValue.hasSuffix("needs_response"),
            isClosed: dispute.status.isClosed,
            amount: dispute.amount.flatMap { Amount(nonNegative: $0) },
            currency: dispute.currency,
            reason: dispute.reason,
            charge: dispute.charge.flatMap { try? ChargeID($0) },
            intent: dispute.paymentIntent.flatMap { try? SourceID($0) },
            createdAt: time(dispute.created),
            dueAt: time(dispute.evidenceDetails?.dueBy)
        )
    }
}
