package import JSONText
import SafeNumbers

/// A request to watch a source.
public struct WatchRequest: WireObject, Hashable {
    /// How often a source is polled.
    public enum Policy: String, Word { case auto, interactive, standard, patient }

    /// The ID to watch.
    ///
    /// May be left out if ``url`` is set.
    public var source: String?
    /// The account at the upstream; `nil` for the default account.
    public var account: String?
    /// The URL of a source at a configured upstream, in place of its ID.
    public var url: String?
    /// The kind, required when the ID does not have a Stripe prefix.
    public var kind: Open<Kind>?
    /// The source's client secret, if the server polls with a publishable key.
    public var clientSecret: String?
    /// How often to poll; `nil` for `auto`.
    public var policy: Open<Policy>?
    /// The goal; `nil` for `settled`.
    public var until: Open<Watch.Goal>?
    /// The span to the deadline, 1 s to 90 days; `nil` for the lifetime of its kind.
    public var timeout: Span?
    /// The recipients, at most 16: `https://…`, `mailto:…` or `redis+stream:NAME`.
    public var notify: [String]?
    /// The charge to make, exactly once, when the source becomes chargeable.
    ///
    /// `nil` applies the account's default.
    public var charge: WatchCharge?
    /// The action on an authorised payment before the hold ends, for payment intents only.
    public var authorisation: Open<Watch.AuthorisationAct>?
    /// The action on a payment that is not finished at the end of its watch, for intents only.
    public var abandoned: Open<Watch.AbandonedAct>?
    /// The shop's order ID, repeated in every event; `nil` for none.
    public var order: String?
    /// Custom names and values, stored with the watch.
    ///
    /// At most 4,096 bytes as JSON.
    public var metadata: Texts?

    /// Creates a request to watch a URL, which must belong to an upstream that the server is configured with.
    public init(url: String, account: String? = nil) {
        self.url = url
        self.account = account
        kind = Open(.http)
    }

    /// Creates an empty request.
    package init() {}

    package static let shape = Shape<WatchRequest>(
        request: "NewWatch",
        "a watch",
        mustBe: "A watch must be an object such as {\"source\":\"src_…\"}",
        // No `anyOf` of `required`: generators turn it into an untyped body.
        .keyword("description", #""What to watch: source or url is required.""#)
    ) {
        Field("source", \.source, .sourceID)
            .note(
                "The ID to watch. Optional with a url. If both are given, it must equal the ID in "
                    + "the url."
            )
        Field("account", \.account, .accountID, .standard("\"default\""))
        Field("kind", \.kind)
            .note("Required if the ID has none of Stripe's prefixes: src_, pi_, seti_, ch_, py_.")
        Field("url", \.url, .length(1...2048))
            .note(
                "The URL of a source of a configured upstream, in place of the upstream's name "
                    + "(account) and the ID. URLs of other hosts are rejected."
            )
        Field("client_secret", \.clientSecret, .pattern("^[A-Za-z0-9_.-]{1,512}$"), .writeOnly)
            .note("The source's own secret, for polls with a publishable key. Never shown again.")
        Field("policy", \.policy, .standard("\"auto\""))
            .note(
                "The longest polling intervals: 15s for the first 10m (interactive), then 5m until "
                    + "24h (standard), then every hour (patient), and after a week every 6h. Polls "
                    + "are more frequent after a change or a hint. auto goes through all of them "
                    + "in this order, and restarts after a change or a hint. interactive also "
                    + "takes precedence over others."
            )
        Field("until", \.until, .standard("\"settled\""))
            .note(
                "How far the source is followed. left_pending: until the customer has completed "
                    + "the required steps (any status of a source but pending; an intent's "
                    + "requires_capture or a final one). settled: until no more changes are "
                    + "expected, a final status or a reusable source's chargeable. final: until a "
                    + "status that cannot change. If two requests differ, the later goal applies. "
                    + "A requested charge takes precedence."
            )
        Field("timeout", \.timeout)
            .note(
                "The time until the deadline, 1s to 90d. Defaults to 30d for Stripe objects, and "
                    + "to the policy's span for a configured upstream: 10m, 24h or 30d. A pending "
                    + "charge made by pollerd is followed for up to 30d more."
            )
        Field("notify", \.notify, .size(0...16), .each(.length(0...2048)))
            .note("The recipients: https://…, http://…, mailto:name@host or redis+stream:NAME.")
        Field("charge", \.charge)
            .note(
                "Charges the source exactly once when it becomes chargeable. Sources only. The "
                    + "first request applies; later ones have no effect. false never charges, even "
                    + "if the account charges by default."
            )
        Field("authorisation", \.authorisation)
            .note(
                "The action for a payment intent in requires_capture when a tenth of the hold is "
                    + "left, or at the first poll after that: capture the full amount, or cancel "
                    + "it. leave does neither and overrides the account's default. Payment intents "
                    + "only. The first value applies."
            )
        Field("abandoned", \.abandoned)
            .note(
                "The action for an intent that is unpaid at the deadline (timeout). cancel polls "
                    + "it once more and then cancels it, with the reason abandoned. leave does "
                    + "not, and overrides the account's default. Intents only. The first value "
                    + "applies."
            )
        Field("order", \.order, .orderID)
            .note(
                "Your ID of the order that the source pays, included in the watch and its events. "
                    + "All watches of an account with the same order are attempts to pay it. An "
                    + "open watch keeps its first order, and a request with another one is "
                    + "rejected (order_mismatch). A closed watch that restarts takes the new "
                    + "order, or none."
            )
        Field("metadata", \.metadata, .size(0...50), .entries).note("Up to 4,096 bytes as JSON.")
    }
}

extension Facet {
    /// The ID of a source at its upstream.
    package static let sourceID = pattern("^[A-Za-z0-9_.-]{1,255}$")
    /// The name of an account.
    package static let accountID = pattern("^[A-Za-z0-9_.-]{1,64}$")
    /// A connected account of a platform.
    package static let connectedAccount = pattern("^acct_[A-Za-z0-9_.-]{1,59}$")
    /// The shop's order ID.
    package static let orderID = pattern(OrderNames.pattern)
    /// The length limits of metadata names and values.
    package static let entries = Facet { schema in
        Facet.names(.length(1...Texts.nameBytesMax)).apply(&schema)
        Facet.each(.length(0...Texts.valueBytesMax)).apply(&schema)
    }
}

/// A charge to make, exactly once, when a watched source becomes chargeable.
///
/// *Shape*: `true` for the whole amount, `false` for no charge regardless of the account's default, or an
/// object. *Units*: the amount in the currency's smallest unit. *Errors*: the server rejects a charge for anything but
/// a Stripe Source, and amounts that are not positive.
public struct WatchCharge: WireObject, Hashable {
    /// The amount, at most that of the source; `nil` for the whole amount.
    public var amount: Int?
    /// The currency, in three lowercase letters; `nil` for the currency of the source.
    public var currency: String?
    /// The charge's `description`, for people.
    public var note: String?
    /// The text on the customer's statement, at most 35 bytes.
    public var statementDescriptor: String?
    /// The metadata of the charge, at most 49 entries.
    public var metadata: Texts?
    /// The platform's fee on a connected account's charge.
    public var feeAmount: Int?
    /// The connected account of the charge, `acct_…`.
    public var onBehalfOf: String?
    /// The transfer of the money to a connected account.
    public var transfer: Transfer?
    /// Whether the source is not charged, regardless of the account's default.
    package private(set) var isNothing = false

    /// No charge, regardless of the account's default.
    public static let nothing: WatchCharge = {
        var charge = WatchCharge()
        charge.isNothing = true
        return charge
    }()

    /// A charge of the source's whole amount.
    public static let whole = WatchCharge()

    package init() {}

    /// Creates a charge.
    public init(
        amount: Int? = nil,
        currency: String? = nil,
        note: String? = nil,
        statementDescriptor: String? = nil,
        metadata: Texts? = nil
    ) {
        self.amount = amount
        self.currency = currency
        self.note = note
        self.statementDescriptor = statementDescriptor
        self.metadata = metadata
    }

    package static let shape = Shape<WatchCharge>(
        request: nil,
        "a charge",
        mustBe: "charge must be true, false or an object such as {\"amount\":1099}",
        prefix: "charge."
    ) {
        Field("amount", \.amount, .range(1...SafeInteger.max))
            .note("In the currency's smallest unit. Defaults to the source's amount.")
        Field("currency", \.currency, .pattern("^[a-z]{3}$"))
            .note("Defaults to the source's currency.")
        Field("description", \.note, .length(0...500))
        Field("statement_descriptor", \.statementDescriptor, .length(0...35))
        Field("metadata", \.metadata, .size(0...49), .entries)
        Field("application_fee_amount", \.feeAmount, .range(1...SafeInteger.max))
            .note("The platform's fee from a charge of a connected account.")
        Field("on_behalf_of", \.onBehalfOf, .connectedAccount)
        Field("transfer_data", \.transfer).note("The destination of the money.")
    }

    /// The destination and the amount of a transfer.
    public struct Transfer: WireObject, Hashable {
        /// The connected account, `acct_…`.
        public var destination = ""
        /// The amount; `nil` for all of it.
        public var amount: Int?

        package init() {}

        /// Creates a transfer.
        public init(destination: String, amount: Int? = nil) {
            self.destination = destination
            self.amount = amount
        }

        package static let shape = Shape<Transfer>(
            request: nil,
            "a transfer",
            mustBe: "transfer_data must be an object such as {\"destination\":\"acct_…\"}",
            prefix: "charge.transfer_data."
        ) {
            Field("destination", \.destination, .connectedAccount)
            Field("amount", \.amount, .range(1...SafeInteger.max)).note("Default: the full amount.")
        }
    }

    package static var schema: Schema {
        Schema([("oneOf", .schemas([Bool.schema, shape.schema]))])
    }

    package static func read(
        _ json: RawJSON,
        _ location: FieldLocation
    ) throws(WireError) -> WatchCharge {
        switch json.bool {
        case true: return .whole
        case false: return .nothing
        case nil:
            guard json.kind == .object else {
                let message = "\(shape.mustBe), not \(json.kind.name)."
                throw WireError(.wrongType, message, field: location.name)
            }
            return try shape.read(json, into: WatchCharge())
        }
    }

    package func write(to json: inout JSONWriter) {
        if isNothing { json.value(false) } else { Self.shape.write(self, to: &json) }
    }
}
