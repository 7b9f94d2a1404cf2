/// Knows who must not be sent mail any more.
package protocol SuppressionList: Sendable {
    /// Why nothing is sent to a recipient on behalf of an account; nil when mail may go out.
    func reason(
        for recipient: MailAddress,
        of account: AccountID
    ) async throws(StoreError) -> SuppressionReason?

    /// Sends nothing more to whom `entry` names; again is as good as once.
    func suppress(
        _ entry: SuppressionEntry,
        because reason: SuppressionReason
    ) async throws(StoreError)

    /// Sends mail to a recipient of an account again, whatever the reason was.
    func lift(_ recipient: MailAddress, of account: AccountID) async throws(StoreError)
}

/// Why somebody is sent no mail.
package enum SuppressionReason: String, Hashable, Sendable, CaseIterable {
    /// They asked us to stop.
    case unsubscribed
    /// Their mail server does not know them.
    case hardBounce = "hard_bounce"
    /// They called our mail spam.
    case complaint
}

/// Whom a suppression is about; holds a digest, so that the list is no list of addresses.
package struct SuppressionEntry: Hashable, Sendable {
    /// Its key in the list.
    package let id: ItemID

    /// A recipient of one account's mails: who unsubscribes at one shop still hears from others.
    package init(_ recipient: MailAddress, of account: AccountID) {
        id = ItemID(of: "mail", account.description, recipient.folded)
    }

    /// A recipient of whoever's mails: a mailbox that does not exist, or somebody who complained.
    package init(everywhere recipient: MailAddress) {
        // No account is named so.
        id = ItemID(of: "mail", "*", recipient.folded)
    }

    /// Wraps what an unsubscribe token names.
    package init(id: ItemID) {
        self.id = id
    }
}
