import Mustache
import Poller

/// Writes mails with the templates in `MailTemplates`: one for each occasion and part, within
/// the layout of the part.
///
/// Every value is text: the HTML layout escapes it, the text layout takes it as it is, and what
/// could end a line is taken out before. The first line of a text is the subject.
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
