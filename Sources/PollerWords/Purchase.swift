package import JSONText
package import Poller

/// What a payment is for, and who is told of it, as far as the shop has said.
package struct Purchase: Hashable, Sendable {
    /// The shop's number of the order.
    package let order: String?
    /// What the shop calls it, where there is no number.
    package let note: String?
    package let shop: String?
    /// Where its payer goes back to, where the shop has said so of this one.
    package let home: PayerHome?
    /// Nothing is paid: a way to pay is being kept.
    package let isSetup: Bool
    /// The time zone of its payer: from the metadata, else the shop's own; nil for UTC.
    package let zone: PayerZone?
    /// The payee of a transfer, where the upstream names none.
    package let payee: String?

    /// Of a subject, and of a row on a phone.
    private static let charactersMax = 80

    /// Describes a purchase; what ends a line or turns its direction is taken out, and a long one is cut.
    package init(
        order: String? = nil,
        note: String? = nil,
        shop: String? = nil,
        home: PayerHome? = nil,
        isSetup: Bool = false,
        zone: PayerZone? = nil,
        payee: String? = nil
    ) {
        self.order = Self.line(order)
        self.note = Self.line(note)
        self.shop = Self.line(shop)
        self.home = home
        self.isSetup = isSetup
        self.zone = zone
        self.payee = Self.line(payee)
    }

    /// Reads what a shop has said of a watch.
    ///
    /// - Parameters:
    ///   - order: the watch's own order; without it `order` or `order_id` of the metadata.
    ///   - metadata: of the watch, a JSON object; its `return_url` is the payer's way back, its `time_zone`
    ///     the payer's zone.
    ///   - object: the upstream's, whose description is told where there is no order.
    ///   - branding: the shop; nil for a shop without branding.
    ///   - kind: what is watched.
    package init(
        order: String? = nil,
        metadata: RawJSON?,
        object: SeenObject,
        branding: Branding?,
        kind: SourceKind
    ) {
        func said(_ name: String) -> String? {
            metadata?.member(name).flatMap { $0.string ?? $0.number }
        }
        self.init(
            order: order ?? [said("order"), said("order_id")].compactMap(Self.line).first,
            note: said("description") ?? object.note,
            shop: branding?.name,
            home: said("return_url").flatMap(PayerHome.init),
            isSetup: kind == .setupIntent,
            zone: said("time_zone").flatMap(PayerZone.init)
                ?? branding?.timeZone.flatMap(PayerZone.init),
            payee: branding?.accountHolder ?? branding?.name
        )
    }

    /// The language a shop has said that its customer speaks: `locale` or `language` of a watch's
    /// metadata, else what it has told the upstream; nil when it has not.
    package static func language(metadata: RawJSON?, object: SeenObject) -> PayerLanguage? {
        let said = ["locale", "language"].lazy.compactMap { metadata?.member($0)?.string }.first
        return (said ?? object.locale).flatMap { PayerLanguage(tag: $0) }
    }

    private static func line(_ text: String?) -> String? {
        guard let text else { return nil }
        let scalars = text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: false
            default: true
            }
        }
        let line = String(String.UnicodeScalarView(scalars)).prefix(charactersMax)
        return line.allSatisfy(\.isWhitespace) ? nil : String(line)
    }
}

/// What an upstream's object says that a payer may be told, wherever that stands in it.
///
/// The payment's word and its step are not read here: those are ``Payment`` and ``NextStep``. This is the
/// rest, and the substitute for a payment where an event has none.
package struct SeenObject: Hashable, Sendable {
    package let amount: Amount?
    package let currency: String?
    package let method: PaymentMethod?
    /// Whether real money is meant; nil when the object does not say.
    package let isLive: Bool?
    /// Whether there was an object at all.
    package let hasObject: Bool
    /// Why a redirect failed.
    package let failure: String?
    /// Whether the last try of an intent has failed.
    package let hasFailed: Bool
    /// Where a customer is sent, with secrets blanked.
    package let redirect: String?
    let note: String?
    let locale: String?

    /// Reads the object of an event; without one nothing is known.
    package init(_ event: Event?) {
        let object = event.flatMap { RawJSON(unchecked: $0.json).member("object") }
        func text(_ name: String, in parent: RawJSON?) -> String? {
            parent?.member(name)?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        hasObject = object.map { !$0.isNull } ?? false
        amount = object?.member("amount")?.number
            .flatMap { Amount(decimal: $0) }.flatMap { $0 < 0 ? nil : $0 }
        currency = text("currency", in: object)
        isLive = event?.isLive ?? object?.member("livemode")?.bool
        let isSource = event?.key.kind == .source
        let details = object?.member("payment_method_details")
        let type = text("type", in: details) ?? (isSource ? text("type", in: object) : nil)
        method = PaymentMethod(type)
        let action = object?.member("next_action")?.member("redirect_to_url")
        redirect = text("url", in: object?.member("redirect")) ?? text("url", in: action)
        failure = text("failure_reason", in: object?.member("redirect"))
        hasFailed = ["last_payment_error", "last_setup_error"].contains { name in
            object?.member(name).map { !$0.isNull } ?? false
        }
        note = text("description", in: object)
        let own = method.flatMap { object?.member($0.name) }
        locale = text("preferred_language", in: own) ?? text("locale", in: own)
    }
}

/// One thing to know, with what it is called.
package struct PayerFact: Hashable, Sendable {
    package let label: String
    package let value: String
    /// What is copied for a form of the bank's; nil for what is only read.
    package let copied: String?
    /// Whether the value stays on one line, because a person compares it with another: an IBAN.
    package let isUnbroken: Bool

    init(_ label: String, _ value: String, copied: String? = nil, isUnbroken: Bool = false) {
        self.label = label
        self.value = value
        self.copied = copied
        self.isUnbroken = isUnbroken
    }
}

/// A place to go on at.
package struct PayerLink: Hashable, Sendable {
    package let label: String
    package let url: String

    /// A link with its words.
    package init(_ label: String, _ url: String) {
        self.label = label
        self.url = url
    }
}
