import Foundation
package import PollerIdentity

/// The instruction to charge a watched source when it becomes chargeable.
///
/// *Shape* (JSON, in the API and in the store): `true`; `false` for no charge, even if the account has a default; or an
/// object with any of
/// `{"amount":1099,"currency":"eur","description":"…","statement_descriptor":"…","metadata":{"order":"4711"}}` and the
/// fields of a ``ChargeSharing``.
package struct ChargeInstruction: Hashable, Sendable {
    /// The amount in the currency's smallest unit; `nil` for the source's own amount.
    package let amount: Amount?
    /// The currency, three lower-case letters; `nil` for the source's own.
    package let currency: String?
    /// The API's `description`, for people.
    package let note: String?
    /// The text on the customer's statement.
    package let statementDescriptor: String?
    package let metadata: [String: String]
    /// The distribution of the amount; `nil` if the account receives all of it.
    package let sharing: ChargeSharing?
    /// Whether nothing is charged, even if the account has a default.
    package let isNothing: Bool

    /// The instruction to charge nothing, even if the account has a default.
    package static let nothing = ChargeInstruction(isNothing: true)
    /// The instruction to charge the whole amount of the source.
    package static let whole = ChargeInstruction()

    /// Checks an instruction.
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
                "charge.amount",
                "must be a positive whole number in the currency's smallest unit"
            )
        }
        let letters = currency?.utf8.filter { (0x61...0x7A).contains($0) }
        guard letters?.count ?? 3 == 3, currency?.utf8.count ?? 3 == 3 else {
            throw InvalidInput("charge.currency", "must be three lower-case letters such as eur")
        }
        // Stripe's limits; 50 metadata entries, less one that this system adds.
        for (field, text, most) in [
            ("description", note, 500), ("statement_descriptor", statementDescriptor, 35),
        ] where (text?.utf8.count ?? 0) > most {
            throw InvalidInput("charge.\(field)", "is longer than \(most) bytes")
        }
        guard metadata.count < 50 else {
            throw InvalidInput("charge.metadata", "has more than 49 entries")
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

    /// Returns the idempotency key of the only charge of a source by this instruction, over `amount`.
    ///
    /// It is derived from the account, the source, the sum, the metadata and the sharing. Every process and run that
    /// repeats the charge after a crash sends the same key. Another instruction for a reusable source has another key.
    /// Fields for people (``note``, ``statementDescriptor``) may change between two attempts. To charge a saved source
    /// the same sum again, set different metadata. The key has 38 of 255 allowed characters.
    ///
    /// If the watch names an order (`OrderID`), the key is derived from the account, the order and the number of the
    /// right to charge it. Then the upstream rejects a charge of another source or another sum for the order.
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
        let keyParts = metadata.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        let named = ["\(key.account)", "\(key.source)", "\(amount)", currency]
        let shared = sharing?.keyParts ?? []
        return "poller-charge:\(Digest.base64url(of: named + keyParts + shared, bytes: 18))"
    }
}

extension ChargeInstruction: Codable {
    private enum CodingKeys: String, CodingKey {
        case amount, currency, metadata
        case note = "description"
        case statementDescriptor = "statement_descriptor"
    }

    /// Decodes an instruction that was checked when it was stored.
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

    /// Encodes the fields that are set; equal instructions have equal bytes.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encodeIfPresent(amount, forKey: .amount)
        try fields.encodeIfPresent(currency, forKey: .currency)
        try fields.encodeIfPresent(note, forKey: .note)
        try fields.encodeIfPresent(statementDescriptor, forKey: .statementDescriptor)
        if !metadata.isEmpty { try fields.encode(metadata, forKey: .metadata) }
        try sharing?.encode(to: encoder)
    }

    /// The stored form, on one line.
    package var json: String {
        if isNothing { return "false" }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers and text can always be encoded.
        let data = (try? encoder.encode(self)) ?? Data("{}".utf8)
        return String(decoding: data, as: UTF8.self)
    }

    /// Parses ``json``; `nil` for any other text.
    package init?(json: String) {
        if json == "false" {
            self = .nothing
            return
        }
        guard let decoded = try? JSONDecoder().decode(Self.self, from: Data(json.utf8)) else {
            return nil
        }
        self = decoded
    }
}

/// The progress of the charge of a watched source.
///
/// ```
/// none ─▶ made(pending) ─▶ succeeded | failed
///   └──▶ doubtful ─▶ the same, by repeating with the same key or by a search
/// ```
package enum ChargeProgress: Hashable, Sendable {
    /// No attempt was made.
    case none
    /// Stripe received a request with an unknown result.
    ///
    /// The same key is used again. If the instruction has changed since, its key differs, and a source that can be
    /// charged again is charged only if no charge of this run is found for a minute.
    case doubtful
    /// The charge, `ch_…`, exists, and the bank has not answered yet.
    case pending(ChargeID)
    /// The money was received.
    case succeeded(ChargeID)
    /// The charge was declined or is impossible; no further attempt is made.
    ///
    /// The event contains the reason.
    case failed

    /// Whether the result is final.
    package var isSettled: Bool {
        switch self {
        case .none, .doubtful, .pending: false
        case .succeeded, .failed: true
        }
    }

    package var charge: ChargeID? {
        switch self {
        case .pending(let id), .succeeded(let id): id
        case .none, .doubtful, .failed: nil
        }
    }

    /// Parses ``name`` and ``charge``; `none` for any other combination.
    package init(name: String, charge: ChargeID?) {
        switch (name, charge) {
        case ("doubtful", _): self = .doubtful
        case ("pending", let id?): self = .pending(id)
        case ("succeeded", let id?): self = .succeeded(id)
        case ("failed", _): self = .failed
        default: self = .none
        }
    }

    /// The name of the state, for readers.
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

/// The ID of a charge at the upstream, `ch_…` or `py_…`.
package typealias ChargeID = SourceID

/// The right to charge an order, granted by `OrderService.take(_:at:)`.
package struct ChargeRight: Hashable, Sendable {
    package let order: OrderID
    /// The number of times that the right was granted to a source.
    package let number: Int

    package init(order: OrderID, number: Int) {
        self.order = order
        self.number = number
    }
}
