import Foundation
package import PollerIdentity

/// What to charge when a watched source becomes chargeable.
///
/// *Shape* (JSON, as the API takes it and the store keeps it): `true`, `false` for nothing, whatever
/// the account charges otherwise, or an object with any of
/// `{"amount":1099,"currency":"eur","description":"…","statement_descriptor":"…","metadata":{"order":"4711"}}`,
/// and of what a ``ChargeSharing`` has.
package struct ChargeOrder: Hashable, Sendable {
    /// In the currency's smallest unit; the source's own amount when nil.
    package let amount: Amount?
    /// Three letters, lower case; the source's own when nil.
    package let currency: String?
    /// The API's `description`: for people.
    package let note: String?
    /// The text on the customer's statement.
    package let statementDescriptor: String?
    /// Kept with the charge.
    package let metadata: [String: String]
    /// What of it goes to whom; nil: all of it is the account's.
    package let sharing: ChargeSharing?
    /// Nothing is to be charged, not even by what the account says.
    package let isNothing: Bool

    /// Not to be charged, whatever the account says.
    package static let nothing = ChargeOrder(isNothing: true)
    /// The whole amount of the source, with nothing to say about it.
    package static let whole = ChargeOrder()

    /// Checks an order.
    package init(
        amount: Amount? = nil,
        currency: String? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        metadata: [String: String] = [:],
        sharing: ChargeSharing? = nil
    ) throws(InvalidInput) {
        guard amount.map({ $0 > 0 }) ?? true else {
            throw InvalidInput(
                field: "charge.amount",
                message: "must be a positive whole number in the currency's smallest unit"
            )
        }
        let letters = currency?.utf8.filter { (0x61...0x7A).contains($0) }
        guard letters?.count ?? 3 == 3, currency?.utf8.count ?? 3 == 3 else {
            throw InvalidInput(
                field: "charge.currency",
                message: "must be three lower-case letters such as eur"
            )
        }
        // Stripe's own limits; 50 of the metadata's entries less one that is ours.
        for (field, text, most) in [
            ("description", note, 500), ("statement_descriptor", statementDescriptor, 35),
        ] where (text?.utf8.count ?? 0) > most {
            throw InvalidInput(field: "charge.\(field)", message: "is longer than \(most) bytes")
        }
        guard metadata.count < 50 else {
            throw InvalidInput(field: "charge.metadata", message: "has more than 49 entries")
        }
        self.amount = amount
        self.currency = currency
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.metadata = metadata
        self.sharing = sharing
        isNothing = false
    }

    private init(isNothing: Bool = false) {
        self.isNothing = isNothing
        amount = nil
        currency = nil
        note = nil
        statementDescriptor = nil
        metadata = [:]
        sharing = nil
    }

    /// The idempotency key of this order's one charge of a source, which comes to `amount`.
    ///
    /// Of account, source and what the order says that makes it this one: the sum, the metadata, and who
    /// gets what of it, where it is shared.
    /// Whoever charges it, in whichever run or process, after whatever crash, sends the same key;
    /// another order on a reusable source has another. What is only for people (``note``,
    /// ``statementDescriptor``) may change between two tries. To charge a saved source the same sum
    /// once more, say in the metadata what for. 38 characters of the 255 allowed.
    ///
    /// Where the watch names what it pays (`OrderID`), the key is that order's: of the account, its
    /// name and the number of the right to charge it. Then the upstream itself refuses to charge
    /// another source for it, or another sum.
    package func idempotencyKey(
        of key: WatchKey,
        amount: Amount,
        currency: String,
        by right: ChargeRight? = nil
    ) -> String {
        if let right {
            let named = ["\(key.account)", "order", "\(right.order)", "\(right.number)"]
            return "poller-order:\(Digest.base64url(of: named, bytes: 18))"
        }
        let said = metadata.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        let named = ["\(key.account)", "\(key.source)", "\(amount)", currency]
        let shared = sharing?.said ?? []
        return "poller-charge:\(Digest.base64url(of: named + said + shared, bytes: 18))"
    }
}

extension ChargeOrder: Codable {
    private enum CodingKeys: String, CodingKey {
        case amount, currency, metadata
        case note = "description"
        case statementDescriptor = "statement_descriptor"
    }

    /// Reads an order that was checked when it was stored.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        amount = try fields.decodeIfPresent(Amount.self, forKey: .amount)
        currency = try fields.decodeIfPresent(String.self, forKey: .currency)
        note = try fields.decodeIfPresent(String.self, forKey: .note)
        statementDescriptor = try fields.decodeIfPresent(String.self, forKey: .statementDescriptor)
        metadata = try fields.decodeIfPresent([String: String].self, forKey: .metadata) ?? [:]
        let shared = try ChargeSharing(from: decoder)
        let isShared =
            shared.feeAmount != nil || shared.onBehalfOf != nil || shared.transfer != nil
        sharing = isShared ? shared : nil
        isNothing = false
    }

    /// Writes what is set; the same order always makes the same bytes.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(amount, forKey: .amount)
        try fields.encodeIfPresent(currency, forKey: .currency)
        try fields.encodeIfPresent(note, forKey: .note)
        try fields.encodeIfPresent(statementDescriptor, forKey: .statementDescriptor)
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
        try sharing?.encode(to: encoder)
    }

    /// The order as a store keeps it, one line.
    package var json: String {
        if isNothing { return "false" }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers and text always encode.
        let data = (try? encoder.encode(self)) ?? Data("{}".utf8)
        return String(decoding: data, as: UTF8.self)
    }

    /// Reads an order back from a store; nil when the text is none.
    package init?(json: String) {
        if json == "false" {
            self = .nothing
            return
        }
        guard let order = try? JSONDecoder().decode(ChargeOrder.self, from: Data(json.utf8)) else {
            return nil
        }
        self = order
    }
}

/// How far the charge of a watched source has come.
///
/// ```
/// none ─▶ made(pending) ─▶ succeeded | failed
///   └──▶ doubtful ─▶ the same, by repeating with the same key or by looking
/// ```
package enum ChargeProgress: Hashable, Sendable {
    /// No attempt was made.
    case none
    /// Stripe was asked, and what became of it is not known: only the same key may be tried again.
    case doubtful
    /// There is a charge, `ch_…`, which the bank has not answered yet.
    case pending(ChargeID)
    /// The money is there.
    case succeeded(ChargeID)
    /// Declined, or impossible: nothing more is tried. The event says why.
    case failed

    /// Whether nothing more will become of it.
    package var isSettled: Bool {
        switch self {
        case .none, .doubtful, .pending: false
        case .succeeded, .failed: true
        }
    }

    /// The charge itself.
    package var charge: ChargeID? {
        switch self {
        case .pending(let id), .succeeded(let id): id
        case .none, .doubtful, .failed: nil
        }
    }

    /// Reads a state back from its ``name`` and ``charge``; none when they make none.
    package init(name: String, charge: ChargeID?) {
        switch (name, charge) {
        case ("doubtful", _): self = .doubtful
        case ("pending", let id?): self = .pending(id)
        case ("succeeded", let id?): self = .succeeded(id)
        case ("failed", _): self = .failed
        default: self = .none
        }
    }

    /// The state in one word, for readers.
    package var name: String {
        switch self {
        case .none: "none"
        case .doubtful: "doubtful"
        case .pending: "pending"
        case .succeeded: "succeeded"
        case .failed: "failed"
        }
    }
}

/// A charge of ours at the upstream, `ch_…` or `py_…`.
package typealias ChargeID = SourceID
