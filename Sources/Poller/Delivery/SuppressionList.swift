import Crypto
package import PollerIdentity
package import PollerQueue

/// Knows who must not be sent mail any more.
package protocol SuppressionList: Sendable {
    /// Why nothing is sent to a recipient on behalf of an account; nil when mail may go out.
    func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason?

    /// Stops mail to the recipients of `entry`.
    ///
    /// Repeating the call changes nothing. The list shows `note`.
    func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason,
        noting note: SuppressionNote
    ) async throws(StoreError)

    /// Sends mail to a recipient of an account again, whatever the reason was.
    func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError)

    /// Allows mail to the recipients of `entry` again; returns the entry's note, or `nil` when it is not in the list.
    func lift(_ entry: SuppressionEntry) async throws(StoreError) -> SuppressedRecipient?

    /// A page of the list, newest first.
    ///
    /// Pages are not a snapshot: when an entry is lifted, the entries after it move up.
    func suppressed(
        limit: Int,
        cursor: String?
    ) async throws(StoreError) -> ListPage<SuppressedRecipient>

    /// Notes that a relay refuses a recipient as unknown; returns when it did so first, `now` for the first time.
    func noteRefusal(
        _ entry: SuppressionEntry,
        at now: Timestamp
    ) async throws(StoreError) -> Timestamp

    /// Forgets the refusals of a recipient, who has been sent a mail since.
    func forgetRefusals(_ entry: SuppressionEntry) async throws(StoreError)
}

/// When a relay that knows no such mailbox is believed: the second time, on another day.
///
/// A relay may lose its list of mailboxes for some hours, and then knows nobody: that must not silence the payers who
/// were mailed meanwhile. A mailbox that is missing a day later is missing.
package enum MailboxRefusal {
    /// From the first refusal to one that is on another day.
    package static let apart = Duration.seconds(86_400)
    /// So long a first refusal is remembered.
    package static let kept = Duration.seconds(90 * 86_400)

    /// Whether a refusal confirms an earlier one.
    package static func isConfirmed(first: Timestamp, now: Timestamp) -> Bool {
        now - first >= apart
    }
}

extension SuppressionList {
    /// Stops mail to the recipients of `entry`; the list shows only the reason.
    package func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason
    ) async throws(StoreError) {
        try await suppress(entry, because: reason, noting: SuppressionNote(at: Timestamp(ms: 0)))
    }
}

/// The details that the list shows of an entry.
///
/// The key of an entry is a digest. The details are enough to recognise a recipient, but are no list of addresses.
package struct SuppressionNote: Hashable, Sendable {
    /// The address without most of its letters (`MailAddress.masked`); `nil` where it is unknown.
    package let recipient: String?
    /// The account whose mails are stopped; `nil` for those of every account, and where that is not known.
    package let account: AccountID?
    package let at: Timestamp

    /// Describes an entry to people.
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

    /// Creates it from stored fields.
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

/// Why somebody is sent no mail.
package enum SuppressionReason: String, Hashable, Sendable, CaseIterable {
    /// They asked us to stop.
    case unsubscribed
    /// Their mailbox does not exist, as a relay has said on two days or bounce processing has reported.
    case hardBounce = "hard_bounce"
    /// They called our mail spam.
    case complaint
}

/// Whom a suppression is about; holds a digest, so that the list is no list of addresses.
package struct SuppressionEntry: Hashable, Sendable {
    /// Its key in the list.
    package let id: ItemID

    /// A recipient of one account's mails: a customer who unsubscribes at one shop still gets the
    /// mails of others.
    package init(_ recipient: MailAddress, of account: AccountID) {
        id = ItemID(of: "mail", account.description, recipient.folded)
    }

    /// A recipient, whichever account's mail it was: a mailbox that bounce processing has reported as missing, or
    /// somebody who complained.
    package init(everywhere recipient: MailAddress) {
        // No account is named so.
        id = ItemID(of: "mail", "*", recipient.folded)
    }

    /// Wraps what an unsubscribe token names.
    package init(id: ItemID) {
        self.id = id
    }
}

/// Makes and checks the tokens of unsubscribe links: whoever holds a mail may stop its kind.
///
/// *Shape*: base64url of the 9 bytes of a ``SuppressionEntry`` and 16 bytes of HMAC-SHA256 over
/// them, 34 characters. It does not show the address to somebody who finds it in a log, never
/// expires (a mail may be years old), and is the same for every attempt of a mail.
package struct UnsubscribeTokens: Sendable {
    private static let idCharacters = 12
    private static let macBytes = 16
    /// Enough that no two accounts of a cluster have the same.
    private static let senderBytes = 6

    let key: SymmetricKey

    /// Tokens of one cluster.
    ///
    /// `secret` is the same in every process of the cluster, at least 16 random bytes; a key of
    /// its own is derived from it, so it may serve another purpose too.
    package init(secret: [UInt8]) {
        precondition(secret.count >= 16, "fewer bytes can be guessed")
        let derived = HMAC<SHA256>.authenticationCode(
            for: Array("poller unsubscribe".utf8),
            using: SymmetricKey(data: secret)
        )
        key = SymmetricKey(data: Array(derived))
    }

    /// The token that stops the mails of an entry.
    package func text(for entry: SuppressionEntry) -> String {
        entry.id.description + Base64URL.encode(mac(entry.id.description))
    }

    /// What a token stops; nil for a text that is no token of ours.
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

    /// What tells whose mails an entry is about to who knows that account, and to nobody else: eight characters.
    ///
    /// A link has it beside the token, so that its page is the shop's; an account's name is for us.
    package func sender(_ account: AccountID, of entry: SuppressionEntry) -> String {
        Base64URL.encode(Array(mac("\(entry.id) of \(account)").prefix(Self.senderBytes)))
    }

    /// The account that a link tells of; nil when it is none of these.
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
