import Poller
import PollerIdentity

/// A setting that only the configuration file can hold: a member of one of its sections.
///
/// ``all`` is the single table of these members. The section readers, `check-config --describe` and the page about the
/// file use it. A new member needs a row here and the line that reads it.
struct FileMember: Sendable {
    /// The part of the file with this member: `accounts.NAME`, `branding`.
    ///
    /// `NAME` is chosen by the operator.
    let parent: String
    let name: String
    /// The allowed values.
    let form: String
    /// The default, or `nil` if the member is required.
    let standard: String?
    /// One line for people.
    let help: String

    /// The full path, such as `accounts.NAME.charge`.
    var place: String { "\(parent).\(name)" }

    /// The entry in `check-config --describe`: purpose, allowed values and default.
    var description: String {
        """
        \(place)
            \(help)
            \(form)
            \(standard.map { "default: \($0)" } ?? "required")
        """
    }

    /// Returns the names of the members of a part of the file.
    static func names(of parent: String) -> Set<String> {
        Set(all.filter { $0.parent == parent }.map(\.name))
    }

    /// Whether the value at a path may be a secret: such a member, or a name below it.
    static func isSecret(_ path: [String]) -> Bool {
        guard path.count > 2 else { return false }
        return all.contains {
            $0.parent == "\(path[0]).NAME" && $0.name == path[2] && $0.form.contains("{env: NAME")
        }
    }

    /// Every member, in reading order.
    static let all: [FileMember] = [
        ("accounts.NAME", account), ("accounts.NAME.charge", charge),
        ("upstreams.NAME", upstream), ("upstreams.NAME.payment", payment),
        ("upstreams.NAME.payment.state", state),
        ("endpoints.NAME", endpoint), ("endpoints.NAME.notify_by", notifyBy),
        ("branding", branding), ("limits", limits),
    ].flatMap { parent, rows in
        rows.map { FileMember(parent: parent, name: $0, form: $1, standard: $2, help: $3) }
    }

    /// Name, form, default and help.
    private typealias Row = (String, String, String?, String)

    private static let secret = "{env: NAME} or {file: PATH}"
    private static let yesNo = "true or false"
    private static let names = "names with their values"
    private static let secretNames =
        #"names with their values, {env: NAME, prefix: "Bearer "} or {file: PATH}"#

    private static let account: [Row] = [
        (
            "stripe_api_key", secret, "of the account default its option; others need one",
            "the account's key; to watch, a read-only restricted one is enough"
        ),
        (
            "webhook_secrets", secret, "not set",
            "whsec_… of the account's webhooks, by comma while one is rolled"
        ),
        (
            "connected", "list of acct_…, or of the account default all", "none",
            "the connected accounts that a platform's webhooks may name"
        ),
        (
            "charge", "true, false or members", "false",
            "charges all of each source once, when it becomes chargeable"
        ),
        (
            "refund_duplicates", yesNo, "false",
            "gives back what an order was paid with a second time"
        ),
        (
            "authorisation", "capture, cancel or leave", "leave",
            "what is done about a hold before it ends, for watches that say nothing"
        ),
        (
            "abandoned", "cancel or leave", "leave",
            "what is done about an intent that nobody has paid in time, likewise"
        ),
        ("branding", "members", "not set", "whose payments these are, for payers"),
        ("limits", "members", "those of the options", "how much of this it may have"),
    ]
    private static let charge: [Row] = [
        ("description", "text", "not set", "what a charge says it is for"),
        (
            "statement_descriptor", "text", "that of the account at Stripe",
            "what the payer's bank statement says"
        ),
        ("metadata", names, "empty", "kept with each charge"),
    ]
    private static let upstream: [Row] = [
        (
            "url", "https:// URL with {id} in its path", nil,
            "where a payment is; a watch names it by such a URL, or by its id"
        ),
        ("status", "JSON pointer", nil, "where the answer has the status"),
        (
            "final", "list of statuses of at most 64 characters", nil,
            "those that end a payment, compared without case and without blanks at the ends"
        ),
        (
            "payment", "members", "not set: nothing is said of the money",
            "what of the answer is the payment"
        ),
        ("headers", secretNames, "empty", "sent with each request"),
        ("rate", "0 to 1000000", "10", "polls a second; 0 is unlimited"),
        ("burst", "1 to 1000000", "5", "polls that may follow each other at once"),
        ("concurrency", "1 to 1000000", "10", "polls in flight at once"),
        ("timeout", "100ms to 5m", "8s", "the longest that one poll may take"),
        ("branding", "members", "not set", "whose payments these are, for payers"),
        ("limits", "members", "those of the options", "how much of this it may have"),
    ]
    private static let payment: [Row] = [
        ("state", "members", nil, "what is true of the money"),
        (
            "amount", "JSON pointer", "not set",
            "where the sum is, such as 1099 or “10.99”"
        ),
        (
            "amount_format", "auto, smallest_unit or decimal", "auto",
            "how the sum is written: decimal for “10.00” and “10” with a currency beside it"
        ),
        (
            "currency", "JSON pointer or three letters", "not set",
            "where it is, or which it always is"
        ),
    ]
    private static let state: [Row] = [
        ("pointer", "JSON pointer", "that of status", "where the answer's word is"),
        (
            "map", "the answer's words, each with a state of a payment", nil,
            "compared as final; a word that is not named is unknown"
        ),
    ]
    private static let endpoint: [Row] = [
        ("url", "https://…, mailto:name@host or redis+stream:NAME", nil, "where it is told"),
        ("account", "name of an account", "default", "whose events it is told"),
        (
            "types", "list such as [source.*, payment.paid]", "all",
            "only these; of operator.* without an account"
        ),
        ("sources", "list of ids", "all", "only events of these sources"),
        ("metadata", names, "empty", "only of watches whose metadata hold these"),
        ("final_only", yesNo, "false", "only how watches end"),
        (
            "coalesce", yesNo, "false",
            "after a failure only the newest of what waits, and the end"
        ),
        ("retry", "default, fast, none or list of spans", "default", "the waits between attempts"),
        ("timeout", "1s to 30s", "15s, of mail 30s", "the longest that one attempt may take"),
        ("rate", "0 to 1000000", "0", "deliveries a second; 0 is unlimited"),
        ("burst", "1 to 1000000", "1", "deliveries that may follow each other at once"),
        (
            "concurrency", "1 to 1000000", "the option endpoint_concurrency",
            "deliveries in flight at once"
        ),
        ("headers", secretNames, "empty", "sent with each webhook"),
        ("payload", "full or thin", "full", "thin leaves the upstream's object out"),
        ("notify_by", "members", "not set", "who is told of what it does not accept in time"),
        (
            "secret", secret, "made when it is registered",
            "whsec_… that signs; up to three by comma, the newest first"
        ),
    ]
    private static let notifyBy: [Row] = [
        ("within", "span", nil, "how long it has to accept an event"),
        (
            "endpoint", "name of an endpoint of the file, or ep_…", nil,
            "who is told then, of the same account"
        ),
    ]
    private static let limits: [Row] = [
        (
            "watches", "0 to 1000000000", "the option watches_per_account",
            "open watches; 0 is unlimited"
        ),
        (
            "endpoints", "0 to 1000000", "the option endpoints_per_account",
            "registered endpoints; 0 is unlimited"
        ),
    ]
    private static let branding: [Row] = [
        ("name", "1 to 80 characters", nil, "the shop's name"),
        ("url", "https:// URL", "not set", "where “back to the shop” leads"),
        ("support", "mail address", "not set", "who answers payers' questions"),
        ("colour", "#rrggbb", "not set", "that of headings and buttons"),
        ("logo", "https:// URL", "not set", "a picture in place of the name"),
        ("language", "tag such as de", "en", "for payers whose language is unknown"),
        ("time_zone", "such as Europe/Berlin", "UTC", "for payers whose zone is unknown"),
        (
            "mail_from", "address or Name <address>", "the option mail_from",
            "who its mails come from; the relay must accept it"
        ),
        (
            "account_holder", "1 to 70 characters", "the shop's name",
            "the payee of transfers where the upstream names none"
        ),
    ]
}

extension PollPolicy {
    /// The entry of a policy in `check-config --describe`.
    ///
    /// Policies are not part of the file.
    var described: String {
        let usual = "every \(cap.text) at most"
        let pace =
            self == .auto
            ? "every \(PollPolicy.interactive.cap.text) while the payer is likely to be there, then "
                + "every \(cap.text)" : usual
        return """
            policy \(name)
                \(pace)
                at that speed for \(span.text)
            """
    }
}
