import PollerHints
import PollerIdentity
import PollerOperations
import StripeAPI

// A signature proves that the signer sent an event. It proves nothing about the account or object that the event
// names.

extension StripeWebhooks {
    /// The account of an event's objects.
    enum Owner {
        case account(AccountID)
        /// The event names an account that its signer does not act for, with the reason.
        case foreign(String)
    }

    func owner(
        of event: SignedEvent,
        signedBy signer: AccountID,
        _ connected: ConnectedAccounts
    ) -> Owner {
        guard let name = event.accountNames.first else { return .account(signer) }
        // An event that names two accounts is ambiguous.
        guard event.accountNames.count == 1 else { return .foreign("it names several accounts") }
        // The name comes from the sender and may be any text.
        guard let account = ConnectedAccounts.account(named: name) else {
            return .foreign("it names an account that is not an acct_… ID")
        }
        guard account != signer else { return .account(signer) }
        guard !names.contains(account) else {
            return .foreign(
                "it names account \(account), which is configured and has its own secret"
            )
        }
        guard connected.includes(account) else {
            return .foreign(
                "it names account \(account), and the secret of \(signer) does not act for "
                    + "that: list "
                    + "it under accounts.\(signer).connected if it is connected to this platform"
            )
        }
        return .account(account)
    }

    /// Whether a text can be a Stripe ID, which becomes part of store keys and timelines.
    static func isWord(_ text: String, _ bytesMax: Int) -> Bool {
        (1...bytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            }
    }

    /// Whether a text can be an event type; v2 has types such as `v2.core.account[requirements].updated`.
    static func isType(_ text: String) -> Bool {
        // Stripe's types are shorter than 100 characters. The type is stored in the timeline of a watch.
        isWord(String(text.filter { $0 != "[" && $0 != "]" }), 100)
    }
}

extension WebhookRefusal {
    /// Converts an error to the reason that an operator can act on.
    init(_ error: WebhookError) {
        switch error {
        case .signature(.tooOld): self = .clock
        case .signature(.noMatch): self = .secret
        case .signature: self = .unsigned
        case .malformed: self = .malformed
        }
    }
}
