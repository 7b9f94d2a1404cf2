package import PollerIdentity
import PollerPayments

/// The sender of mails: `POLLER_MAIL_FROM`, an address or `Name <address>`.
package struct MailSender: Hashable, Sendable {
    /// The name that mail programs show; empty if there is none.
    package let name: String
    package let address: MailAddress

    /// Creates a sender with a shop's name.
    init(name: String, address: MailAddress) {
        self.name = name
        self.address = address
    }

    /// Returns the sender of a shop's mails: its own sender, or this address with the shop's name.
    func sender(of shop: Branding?) -> MailSender {
        guard let shop else { return self }
        // The address was checked when the configuration was read.
        let own = shop.mailFrom.flatMap { try? MailSender($0) }
        let name = own.flatMap { $0.name.isEmpty ? nil : $0.name } ?? shop.name
        return MailSender(name: name, address: own?.address ?? address)
    }

    /// Parses a sender.
    package init(_ text: String) throws(InvalidInput) {
        guard text.hasSuffix(">"), let open = text.lastIndex(of: "<") else {
            name = ""
            address = try MailAddress(text, field: "mail_from")
            return
        }
        let inner = text[text.index(after: open)...].dropLast()
        address = try MailAddress(inner, field: "mail_from")
        let shown = text[..<open].drop { $0 == " " || $0 == "\"" }
        name = String(
            String(shown.reversed().drop { $0 == " " || $0 == "\"" }.reversed())
                .unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        )
    }
}
