package import PollerIdentity
package import PollerPayments

/// Reads the disputes of accounts from the upstream, the only source of their deadlines.
///
/// They are read on request: a dispute changes at the bank, and a copy of it here would be outdated close to its
/// deadline.
package protocol DisputeReader: Sendable {
    /// The accounts with disputes that can be read, in order.
    var disputedAccounts: [AccountID] { get }

    /// Returns the newest disputes of an account, at most a hundred.
    func disputes(of account: AccountID) async throws(DisputeReadFailure) -> [AccountDispute]
}

/// A reader that counts its reads among those of the account, which the upstream limits (``ReadMeter``).
package struct CountedDisputes: DisputeReader {
    private let base: any DisputeReader
    private let store: any SweepStore

    /// Counts the reads of `base` in `store`.
    package init(_ base: any DisputeReader, in store: any SweepStore) {
        self.base = base
        self.store = store
    }

    package var disputedAccounts: [AccountID] { base.disputedAccounts }

    package func disputes(
        of account: AccountID
    ) async throws(DisputeReadFailure) -> [AccountDispute] {
        // One read per minute: a failed count makes no difference.
        _ = try? await store.addReads(ReadUsage(reads: 1, transactions: 0), of: account)
        return try await base.disputes(of: account)
    }
}

/// A failure to read disputes, in a few words without secrets.
package struct DisputeReadFailure: Error, Hashable {
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}

/// A dispute in its current state at the upstream.
package struct AccountDispute: Hashable, Sendable {
    /// The ID, `dp_…` or `du_…`.
    package let id: String
    package let account: AccountID
    /// The upstream's name of the status, such as `needs_response`.
    package let status: String
    /// Whether the dispute has to be answered before ``dueAt``.
    package let needsResponse: Bool
    /// Whether the dispute is final.
    package let isClosed: Bool
    package let amount: Amount?
    package let currency: String?
    /// The reason given, such as `fraudulent`.
    package let reason: String?
    package let charge: ChargeID?
    /// The payment intent of the charge; `nil` for a charge of a source.
    package let intent: SourceID?
    package let createdAt: Timestamp?
    /// The deadline for an answer; `nil` when it can no longer be answered.
    package let dueAt: Timestamp?

    package init(
        id: String,
        account: AccountID,
        status: String,
        needsResponse: Bool,
        isClosed: Bool,
        amount: Amount? = nil,
        currency: String? = nil,
        reason: String? = nil,
        charge: ChargeID? = nil,
        intent: SourceID? = nil,
        createdAt: Timestamp? = nil,
        dueAt: Timestamp? = nil
    ) {
        self.id = id
        self.account = account
        self.status = status
        self.needsResponse = needsResponse
        self.isClosed = isClosed
        self.amount = amount
        self.currency = currency
        self.reason = reason
        self.charge = charge
        self.intent = intent
        self.createdAt = createdAt
        self.dueAt = dueAt
    }
}
