import Foundation
package import PollerIdentity

/// The shop's identity for customers, on the return page and in emails.
///
/// *Shape* (`branding:` of an account in the configuration file):
/// ```
/// branding:
///   name: Shop GmbH
///   url: https://shop.example/orders
///   support: help@shop.example
///   colour: "#1a73e8"
///   logo: https://shop.example/logo.png
///   language: de
///   time_zone: Europe/Berlin
///   mail_from: Shop <payments@shop.example>
///   account_holder: Shop GmbH
/// ```
/// Each value is checked for the place where it is used: an email header, an HTML attribute, a style. So no value of
/// the file can inject anything.
package struct Branding: Hashable, Sendable {
    /// The shop's name.
    package let name: String
    /// The target of "back to the shop".
    package let homeURL: String?
    /// The address for a customer's questions; replies to an email go there.
    package let support: MailAddress?
    /// The colour of headings and buttons, `#rrggbb`.
    package let colour: String?
    /// An image that email programs load from the shop.
    package let logoURL: String?
    /// The default language of its customers: a tag such as `de`.
    package let languageTag: String?
    /// The sender of its emails; `nil` for the sender of all accounts.
    ///
    /// An address or `Name <address>`, which the relay must accept.
    package let mailFrom: String?
    /// The default time zone of its customers: a name of the time zone database, `Europe/Berlin`.
    package let timeZone: String?
    /// The holder of the accounts to which its customers transfer, if the upstream returns none; `nil` for the shop's
    /// name.
    package let accountHolder: String?

    /// Checks the values.
    ///
    /// Errors: `InvalidInput` that names the key and the expected form.
    package init(
        name: String,
        homeURL: String? = nil,
        support: String? = nil,
        colour: String? = nil,
        logoURL: String? = nil,
        languageTag: String? = nil,
        mailFrom: String? = nil,
        timeZone: String? = nil,
        accountHolder: String? = nil
    ) throws(InvalidInput) {
        guard (1...80).contains(name.count), name.unicodeScalars.allSatisfy(Self.isShown) else {
            throw InvalidInput(
                "branding.name",
                "must have 1 to 80 characters and no control characters"
            )
        }
        if let colour {
            let digits = colour.dropFirst()
            guard colour.hasPrefix("#"), digits.utf8.count == 6,
                digits.utf8.allSatisfy(Self.isHexDigit)
            else {
                throw InvalidInput("branding.colour", "must be written #rrggbb, such as #1a73e8")
            }
        }
        let isTag =
            languageTag.map { (2...35).contains($0.utf8.count) && !$0.contains(" ") } ?? true
        guard isTag else {
            throw InvalidInput("branding.language", "must be the tag of a language, such as de")
        }
        if let accountHolder {
            // The longest name of a SEPA transfer (ISO 20022, `Nm` of 70 characters).
            guard (1...70).contains(accountHolder.count),
                accountHolder.unicodeScalars.allSatisfy(Self.isShown)
            else {
                throw InvalidInput(
                    "branding.account_holder",
                    "must have 1 to 70 characters and no control characters"
                )
            }
        }
        // Offsets and abbreviations do not determine summer time; the name of a place does.
        let isZone = timeZone.map {
            $0 == "UTC" || ($0.contains("/") && TimeZone(identifier: $0) != nil)
        }
        if isZone == false {
            throw InvalidInput(
                "branding.time_zone",
                "must be a name of the time zone database, such as Europe/Berlin"
            )
        }
        try Self.check(homeURL, field: "branding.url")
        try Self.check(logoURL, field: "branding.logo")
        self.name = name
        self.homeURL = homeURL
        self.support = try support.map { text throws(InvalidInput) in
            try MailAddress(text, field: "branding.support")
        }
        self.colour = colour?.lowercased()
        self.logoURL = logoURL
        self.languageTag = languageTag
        self.mailFrom = mailFrom
        self.timeZone = timeZone
        self.accountHolder = accountHolder
    }

    /// Checks for an https URL, or an http URL of this machine.
    private static func check(_ url: String?, field: String) throws(InvalidInput) {
        guard let url else { return }
        let forbidden = Set("\"'<>\\`{}|^".utf8)
        let isPlain = url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !forbidden.contains($0) }
        let authority = url.drop { $0 != "/" }.dropFirst(2).prefix { !"/?#".contains($0) }
        let host = authority.prefix { $0 != ":" }
        let isLocal = url.hasPrefix("http://") && (host == "127.0.0.1" || host == "localhost")
        guard isPlain, url.utf8.count <= 2048, url.hasPrefix("https://") || isLocal,
            !host.isEmpty, !authority.contains("@")
        else {
            throw InvalidInput(
                field,
                "must be an https address such as https://shop.example/orders"
            )
        }
    }

    /// Whether a scalar is neither a line break of any script nor a bidirectional control.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
        default: true
        }
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
