import Foundation
import Mustache
import Poller

/// Writes mails with the templates in `MailTemplates`: one for each occasion and part, within
/// the layout of the part.
///
/// Every value is text: the HTML layout escapes it, the text layout takes it as it is, and what
/// could end a line is taken out before. The first line of a text is the subject.
///
/// *What a template is given*: `source`, `status`, `time`, `colour` and `ink` always; `amount`,
/// `unsubscribe`, `name`, `home`, `support`, `logo` when they are known; the flags `test` (no real
/// money), `followed` (further mails may come), `unpaid` (no money can be on its way), `masthead`
/// (the shop has a name).
/// *Errors*: a template that does not parse ends the program with its first mail, and one that is
/// missing with the first mail that needs it: they are part of the program, and tests render each.
struct MailTemplates: Sendable {
    /// The templates this program was built with; parsed once.
    static let standard = MailTemplates()

    /// Headings and buttons of a shop that names no colour.
    private static let colour = "#3b4754"

    private let library: MustacheLibrary

    private init() {
        var library = MustacheLibrary()
        do {
            for (name, source) in Self.sources {
                try library.register(String(decoding: source, as: UTF8.self), named: name)
            }
        } catch {
            preconditionFailure("a template this program was built with does not parse: \(error)")
        }
        self.library = library
    }

    /// The words for an occasion.
    ///
    /// `unsubscribe` is where the customer stops such mails, if they can.
    func content(
        _ occasion: MailOccasion,
        for event: Event,
        branding: Branding?,
        unsubscribe: String?
    ) -> MailContent {
        let values = Self.values(event, branding, unsubscribe)
        let text = render("\(occasion.rawValue)_txt", values)
        let lines = text.split(separator: "\n", maxSplits: 1)
        return MailContent(
            subject: lines.first.map(String.init) ?? "",
            text: String((lines.last ?? "").drop { $0 == "\n" }),
            html: render("\(occasion.rawValue)_html", values)
        )
    }

    private func render(_ name: String, _ values: [String: Any]) -> String {
        guard let text = library.render(values, withTemplate: name) else {
            preconditionFailure("there is no template \(name)")
        }
        return String(text.drop { $0 == "\n" })
    }

    private static func values(
        _ event: Event,
        _ branding: Branding?,
        _ unsubscribe: String?
    ) -> [String: Any] {
        let payment = MailPayment(event)
        let colour = branding?.colour ?? Self.colour
        var values: [String: Any] = [
            "source": event.key.source.description,
            "status": clean(event.status?.description ?? "unknown"),
            "time": MailMessage.date(event.polledAt),
            "colour": colour, "ink": MailPayment.ink(on: colour),
        ]
        if payment.isTest { values["test"] = true }
        if event.closed == nil { values["followed"] = true }
        if isUnpaid(event) { values["unpaid"] = true }
        values["amount"] = payment.amount
        values["unsubscribe"] = unsubscribe
        if let branding {
            values["masthead"] = true
            values["name"] = clean(branding.name)
            values["home"] = branding.homeURL
            values["support"] = branding.support?.description
            values["logo"] = branding.logoURL
        }
        return values
    }

    /// Whether what was seen last says that no money can be on its way: the payer was still to
    /// choose how to pay.
    private static func isUnpaid(_ event: Event) -> Bool {
        event.progress == .none
            && ["requires_payment_method", "requires_confirmation"]
                .contains(event.status?.description)
    }

    /// Text of one line.
    private static func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { scalar in
                    scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value)
                        && scalar.value != 0x2028 && scalar.value != 0x2029
                }
            )
        )
    }

    private static let sources: [(String, [UInt8])] = [
        ("layout_txt", PackageResources.layout_txt),
        ("layout_html", PackageResources.layout_html),
        ("authorised_txt", PackageResources.authorised_txt),
        ("authorised_html", PackageResources.authorised_html),
        ("processing_txt", PackageResources.processing_txt),
        ("processing_html", PackageResources.processing_html),
        ("confirmed_txt", PackageResources.confirmed_txt),
        ("confirmed_html", PackageResources.confirmed_html),
        ("failed_txt", PackageResources.failed_txt),
        ("failed_html", PackageResources.failed_html),
        ("uncharged_txt", PackageResources.uncharged_txt),
        ("uncharged_html", PackageResources.uncharged_html),
        ("cancelled_txt", PackageResources.cancelled_txt),
        ("cancelled_html", PackageResources.cancelled_html),
        ("saved_txt", PackageResources.saved_txt),
        ("saved_html", PackageResources.saved_html),
        ("expired_txt", PackageResources.expired_txt),
        ("expired_html", PackageResources.expired_html),
        ("stopped_txt", PackageResources.stopped_txt),
        ("stopped_html", PackageResources.stopped_html),
        ("unknown_txt", PackageResources.unknown_txt),
        ("unknown_html", PackageResources.unknown_html),
        ("update_txt", PackageResources.update_txt),
        ("update_html", PackageResources.update_html),
    ]
}

/// The words of one mail: a subject and two bodies that say the same.
struct MailContent: Hashable, Sendable {
    /// One line, as text.
    let subject: String
    let text: String
    let html: String
}

/// What a mail shows of the upstream's object, as far as that is known.
struct MailPayment: Hashable, Sendable {
    /// `10.99 EUR`; nil when the object names no amount.
    let amount: String?
    /// Whether the object says that no real money is meant.
    let isTest: Bool
    /// Whether the object, an intent, names an error of its last try.
    let hasFailed: Bool

    /// Reads the object of an event; one that is absent or of another kind shows nothing.
    init(_ event: Event) {
        guard let wire = try? JSONDecoder().decode(Wire.self, from: Data(event.json.utf8)),
            let object = wire.object
        else {
            (amount, isTest, hasFailed) = (nil, false, false)
            return
        }
        isTest = object.livemode == false
        hasFailed = object.paymentError != nil || object.setupError != nil
        amount = object.amount.flatMap { amount in
            object.currency.flatMap { Self.text(amount, $0) }
        }
    }

    /// An amount in the smallest unit as people write it; nil when that is no currency.
    ///
    /// *Source*: <https://docs.stripe.com/currencies#zero-decimal>, and the three-decimal ones below it.
    static func text(_ amount: Int, _ currency: String) -> String? {
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (0x61...0x7A).contains($0 | 0x20) }), amount >= 0
        else { return nil }
        let code = currency.uppercased()
        let decimals = whole.contains(code) ? 0 : thousandths.contains(code) ? 3 : 2
        guard decimals > 0 else { return "\(amount) \(code)" }
        let digits = String(amount)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return "\(padded.dropLast(decimals)).\(padded.suffix(decimals)) \(code)"
    }

    /// The colour of text that can be read on `colour`, `#rrggbb`.
    ///
    /// White wherever its contrast is 4.5 : 1 (WCAG 2.2, 1.4.3), black on what is lighter.
    static func ink(on colour: String) -> String {
        let value = Int(colour.dropFirst(), radix: 16) ?? 0
        let parts = [value >> 16 & 255, value >> 8 & 255, value & 255].map { part in
            let share = Double(part) / 255
            return share <= 0.03928 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4)
        }
        let luminance = 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
        return 1.05 / (luminance + 0.05) >= 4.5 ? "#ffffff" : "#000000"
    }

    private static let whole: Set<String> = [
        "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "UGX", "VND", "VUV",
        "XAF", "XOF", "XPF",
    ]
    private static let thousandths: Set<String> = ["BHD", "JOD", "KWD", "OMR", "TND"]

    /// The event, as far as a mail needs it.
    private struct Wire: Decodable {
        let object: Object?
    }

    /// The upstream's object, as far as a mail shows it.
    private struct Object: Decodable {
        let amount: Int?
        let currency: String?
        let livemode: Bool?
        let paymentError: Failure?
        let setupError: Failure?

        /// That there was an error; what it says is not for customers.
        struct Failure: Decodable {}

        enum CodingKeys: String, CodingKey {
            case amount, currency, livemode
            case paymentError = "last_payment_error"
            case setupError = "last_setup_error"
        }
    }
}
