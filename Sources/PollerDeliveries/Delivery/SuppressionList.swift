import Crypto
package import PollerIdentity
package import PollerQueue

/// The recipients that must not receive email.
package protocol SuppressionList: Sendable {
    /// Returns why a recipient receives no email of an account; `nil` when it may.
    func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason?

    /// Suppresses email to the recipients of `entry`.
    ///
    /// Repeating the call changes nothing. The list shows `note`.
    func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason,
        noting note: SuppressionNote
    ) async throws(StoreError)

    /// Allows email of an account to a recipient again, regardless of the reason.
    func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError)

    /// Allows email to the recipients of `entry` again; returns the entry's note, or `nil` when it is not in the list.
    func lift(_ entry: SuppressionEntry) async throws(StoreError) -> SuppressedRecipient?

    /// Returns a page of the list, newest first.
    ///
    /// Pages are not a snapshot: when an entry is lifted, the entries after it move up.
    func suppressed(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<SuppressedRecipient>

    /// Records that a relay refuses a recipient as unknown; returns the time of the first refusal, or `now`.
    func noteRefusal(
        _ entry: SuppressionEntry,
        at now: Timestamp
    ) async throws(StoreError) -> Timestamp

    /// Deletes the refusals of a recipient after an accepted email.
    func forgetRefusals(_ entry: SuppressionEntry) async throws(StoreError)
}

/// The rule for a relay that reports an unknown mailbox: it is believed the second time, on another day.
///
/// A relay may lose its list of mailboxes for some hours and refuse every recipient. That must not suppress the payers
/// who were mailed meanwhile. A mailbox that is missing a day later does not exist.
package enum MailboxRefusal {
    /// The minimum time between two refusals on different days.
    package static let apart = Duration.seconds(86_400)
    /// The time that a first refusal is kept.
    package static let kept = Duration.seconds(90 * 86_400)

    /// Whether a refusal confirms an earlier one.
    package static func isConfirmed(first: Timestamp, now: Timestamp) -> Bool {
        now - first >= apart
    }
}

/// The details that the list shows of an entry.
///
/// The key of an entry is a digest. The details are enough to recognise a recipient, but are no list of addresses.
package struct SuppressionNote: Hashable, Sendable {
    /// The address without most of its letters (`MailAddress.masked`); `nil` where it is unknown.
    package let recipient: String?
    /// The account whose emails are suppressed; `nil` for every account, or if it is unknown.
    package let account: AccountID?
    package let at: Timestamp

    /// Creates a note about an entry.
    package init(recipient: MailAddress? = nil, account: AccountID? = nil, at: Timestamp) {
        self.init(masked: recipient?.masked, account: account, at: at)
    }

    /// Creates a note from stored fields.
    package init(masked recipient: String?, account: AccountID?, at: Timestamp) {
        self.recipient = recipient
        self.account = account
        self.at = at
    }
}

/// A suppressed recipient, as the list shows it.
package struct SuppressedRecipient: Hashable, Sendable {
    package let entry: SuppressionEntry
    package let reason: SuppressionReason
    package let note: SuppressionNote

    /// Creates a value from stored fields.
    package init(entry: SuppressionEntry, reason: SuppressionReason, note: SuppressionNote) {
        self.entry = entry
        self.reason = reason
        self.note = note
    }
}

extension MailAddress {
    /// The address in lower case, with dots in place of the letters between the first and the last before the `@`:
    /// `j…e@example.com`.
    package var masked: String {
        let text = folded
        guard let at = text.lastIndex(of: "@") else { return "…" }
        let local = text[..<at]
        let ends = local.count > 2 ? "\(local.prefix(1))…\(local.suffix(1))" : "\(local.prefix(1))…"
        return ends + text[at...]
    }
}

/// The reason why a recipient receives no email.
package enum SuppressionReason: String, Hashable, Sendable, CaseIterable {
    /// The recipient has unsubscribed.
    case unsubscribed
    /// The mailbox does not exist, according to a relay on two days or to bounce processing.
    case hardBounce = "hard_bounce"
    /// The recipient has reported spam.
    case complaint
}

/// The subject of a suppression, as a digest, so that the list contains no addresses.
package struct SuppressionEntry: Hashable, Sendable {
    /// The key in the list.
    package let id: ItemID

    /// Creates the entry of a recipient and an account: a customer who unsubscribes at one shop still receives the
    /// emails of others.
    package init(_ recipient: MailAddress, of account: AccountID) {
        id = ItemID(of: "mail", account.description, recipient.folded)
    }

    /// Creates the entry of a recipient for all accounts: a mailbox that bounce processing has reported as missing, or
    /// a complaint.
    package init(everywhere recipient: MailAddress) {
        // No account can have this name.
        id = ItemID(of: "mail", "*", recipient.folded)
    }

    /// Creates the entry of an unsubscribe token.
    package init(id: ItemID) {
        self.id = id
    }
}

/// Creates and verifies the tokens of unsubscribe links, with which the holder of an email can unsubscribe from its
/// kind.
///
/// *Shape*: base64url of the 9 bytes of a ``SuppressionEntry`` and 16 bytes of HMAC-SHA256 over them, 34 characters. A
/// token in a log does not reveal the address. It never expires (an email may be years old), and is the same for every
/// attempt of an email.
package struct UnsubscribeTokens: Sendable {
    private static let idCharacters = 12
    private static let macBytes = 16
    /// The length of a sender code, enough to be unique among the accounts of a cluster.
    private static let senderBytes = 6

    let key: SymmetricKey

    /// Creates the tokens of one cluster.
    ///
    /// `secret` is the same in every process of the cluster, at least 16 random bytes. A separate key is derived from
    /// it, so it may also serve other purposes.
    package init(secret: [UInt8]) {
        precondition(secret.count >= 16, "shorter secrets can be guessed")
        let derived = HMAC<SHA256>.authenticationCode(
            for: Array("poller unsubscribe".utf8),
            using: SymmetricKey(data: secret)
        )
        key = SymmetricKey(data: Array(derived))
    }

    /// Returns the token that suppresses an entry.
    package func text(for entry: SuppressionEntry) -> String {
        entry.id.description + Base64URL.encode(mac(entry.id.description))
    }

    /// Returns the entry of a token; `nil` for an invalid token.
    package func entry(of text: String) -> SuppressionEntry? {
        guard text.utf8.count == Self.idCharacters + (Self.macBytes * 8 + 5) / 6 else {
            return nil
        }
        let id = String(text.prefix(Self.idCharacters))
        guard let shown = Base64URL.decode(text.dropFirst(Self.idCharacters)),
            shown.count == Self.macBytes
        else { return nil }
        // Digests are compared in constant time.
        guard SHA256.hash(data: mac(id)) == SHA256.hash(data: shown) else { return nil }
        return SuppressionEntry(id: ItemID(unchecked: id))
    }

    /// Returns a code of eight characters that identifies the account of an entry, readable only with the account's
    /// name.
    ///
    /// A link contains it next to the token, so that its page shows the shop's branding without revealing the account's
    /// name.
    package func sender(_ account: AccountID, of entry: SuppressionEntry) -> String {
        Base64URL.encode(Array(mac("\(entry.id) of \(account)").prefix(Self.senderBytes)))
    }

    /// Returns the account of a link; `nil` when it is none of these.
    package func account(
        _ sender: String,
        of entry: SuppressionEntry,
        among accounts: some Collection<AccountID>
    ) -> AccountID? {
        accounts.first { self.sender($0, of: entry) == sender }
    }

    private func mac(_ id: String) -> [UInt8] {
        let code = HMAC<SHA256>.authenticationCode(for: Array(id.utf8), using: key)
        return Array(Array(code).prefix(Self.macBytes))
    }
}
