import PollerIdentity
import PollerWatches

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
    var fullPath: String { "\(parent).\(name)" }

    /// The entry in `check-config --describe`: purpose, allowed values and default.
    var description: String {
        """
        \(fullPath)
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
            "stripe_api_key", secret,
            "the option stripe_api_key for the account default, required for others",
            "API key of the account; a read-only restricted key is enough for polling"
        ),
        (
            "webhook_secrets", secret, "not set",
            "signing secret (whsec_…) of the account's webhooks; several, separated by commas, "
                + "during rotation"
        ),
        (
            "connected", "list of acct_…, or all for the account default", "none",
            "connected accounts that the platform's webhooks may name"
        ),
        (
            "charge", "true, false or members", "false",
            "charges each source in full, once, when it becomes chargeable"
        ),
        (
            "refund_duplicates", yesNo, "false",
            "refunds a second payment of the same order"
        ),
        (
            "authorisation", "capture, cancel or leave", "leave",
            "default action for an authorisation hold before it expires"
        ),
        (
            "abandoned", "cancel or leave", "leave",
            "default action for an intent that is not paid in time"
        ),
        ("branding", "members", "not set", "how the shop is presented to payers"),
        ("limits", "members", "those of the options", "limits of the account"),
    ]
    private static let charge: [Row] = [
        ("description", "text", "not set", "description of the charge"),
        (
            "statement_descriptor", "text", "the Stripe account's own",
            "text on the payer's bank statement"
        ),
        ("metadata", names, "empty", "metadata of each charge"),
    ]
    private static let upstream: [Row] = [
        (
            "url", "https:// URL with {id} in its path", nil,
            "address of a payment; a watch names a payment by this URL or by its ID"
        ),
        ("status", "JSON pointer", nil, "position of the status in the response"),
        (
            "final", "list of statuses of at most 64 characters", nil,
            "final statuses of a payment; case and surrounding spaces are ignored"
        ),
        (
            "payment", "members", "not set: payment data is not read",
            "where the response contains the payment data"
        ),
        ("headers", secretNames, "empty", "sent with each request"),
        ("rate", "0 to 1000000", "10", "polls per second; 0 is unlimited"),
        ("burst", "1 to 1000000", "5", "burst of polls"),
        ("concurrency", "1 to 1000000", "10", "concurrent polls"),
        ("timeout", "100ms to 5m", "8s", "timeout of one poll"),
        ("branding", "members", "not set", "how the shop is presented to payers"),
        ("limits", "members", "those of the options", "limits of the account"),
    ]
    private static let payment: [Row] = [
        ("state", "members", nil, "mapping to payment states"),
        (
            "amount", "JSON pointer", "not set",
            "position of the amount, such as 1099 or “10.99”"
        ),
        (
            "amount_format", "auto, smallest_unit or decimal", "auto",
            "format of the amount; decimal for “10.00” and “10” with a separate currency"
        ),
        (
            "currency", "JSON pointer or three letters", "not set",
            "position of the currency, or a fixed currency"
        ),
    ]
    private static let state: [Row] = [
        ("pointer", "JSON pointer", "the value of status", "position of the word in the response"),
        (
            "map", "words of the response, each with a payment state", nil,
            "compared like final; unlisted words are unknown"
        ),
    ]
    private static let endpoint: [Row] = [
        (
            "url", "https://…, mailto:name@host or redis+stream:NAME", nil,
            "address that events are delivered to"
        ),
        ("account", "name of an account", "default", "account whose events it receives"),
        (
            "types", "list such as [source.*, payment.paid]", "all",
            "event types it receives; operator.* requires that account is left out"
        ),
        ("sources", "list of ids", "all", "receives only events of these sources"),
        ("metadata", names, "empty", "receives only events of watches with this metadata"),
        ("final_only", yesNo, "false", "receives only the final event of each watch"),
        (
            "coalesce", yesNo, "false",
            "after a failure, delivers only the newest pending event and the final one"
        ),
        ("retry", "default, fast, none or list of durations", "default", "delays between attempts"),
        ("timeout", "1s to 30s", "15s, for mail 30s", "timeout of one attempt"),
        ("rate", "0 to 1000000", "0", "deliveries per second; 0 is unlimited"),
        ("burst", "1 to 1000000", "1", "burst of deliveries"),
        (
            "concurrency", "1 to 1000000", "the option endpoint_concurrency",
            "concurrent deliveries"
        ),
        ("headers", secretNames, "empty", "sent with each webhook"),
        ("payload", "full or thin", "full", "thin omits the upstream's object"),
        (
            "notify_by", "members", "not set",
            "fallback endpoint for events that are not accepted in time"
        ),
        (
            "secret", secret, "generated when the endpoint is registered",
            "signing secret (whsec_…); up to three, separated by commas, newest first"
        ),
    ]
    private static let notifyBy: [Row] = [
        ("within", "duration", nil, "deadline for accepting an event"),
        (
            "endpoint", "name of an endpoint of the file, or ep_…", nil,
            "fallback endpoint, in the same account"
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
        ("url", "https:// URL", "not set", "target of the “back to the shop” link"),
        ("support", "mail address", "not set", "support address for payers"),
        ("colour", "#rrggbb", "not set", "colour of headings and buttons"),
        ("logo", "https:// URL", "not set", "logo shown instead of the name"),
        ("language", "tag such as de", "en", "language for payers without a known preference"),
        ("time_zone", "such as Europe/Berlin", "UTC", "time zone for payers without a known one"),
        (
            "mail_from", "address or Name <address>", "the option mail_from",
            "sender address of its mails; the relay must accept it"
        ),
        (
            "account_holder", "1 to 70 characters", "the shop's name",
            "payee of bank transfers when the upstream names none"
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
