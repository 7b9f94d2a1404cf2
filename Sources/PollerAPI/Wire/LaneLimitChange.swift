import Poller

/// What `POST /v1/lanes/{lane}/limit` asks for.
///
/// *Shape*: `{"rate":10,"burst":2,"concurrency":5}`, each optional: what is absent stays as it
/// is; or `{"default":true}`.
enum LaneLimitChange: Hashable {
    /// The default limit again.
    case useDefault
    /// A limit of its own; nil leaves that part as it is.
    case set(rate: Double?, burst: Int?, concurrency: Int?)

    private static let fields = ["rate", "burst", "concurrency", "default"]
    /// From one claim in a quarter of an hour to more than a store can serve.
    private static let rates = 0.001...1_000_000.0
    private static let counts = 1...1_000_000

    /// Checks a request.
    ///
    /// Errors: a ``Problem`` that names the field.
    init(json: JSONValue) throws(Problem) {
        let body = try RequestFields(
            json,
            of: "a limit",
            such: #"{"rate":10,"burst":2,"concurrency":5}"#,
            known: Self.fields
        )
        let rate = try body.decimal("rate", in: Self.rates)
        let burst = try body.integer("burst", in: Self.counts)
        let concurrency = try body.integer("concurrency", in: Self.counts)
        let hasLimit = rate != nil || burst != nil || concurrency != nil
        if try body.flag("default") == true {
            guard !hasLimit else {
                throw Problem(
                    .invalidValue,
                    "default excludes rate, burst and concurrency; send it alone.",
                    field: "default"
                )
            }
            self = .useDefault
        } else {
            guard hasLimit else {
                throw Problem(
                    .missingField,
                    "Send at least one of rate, burst and concurrency, or {\"default\":true}.",
                    field: "rate"
                )
            }
            self = .set(rate: rate, burst: burst, concurrency: concurrency)
        }
    }

    /// The lane's own limit after the change; nil for the default.
    func limit(from current: LaneLimit) -> LaneLimit? {
        switch self {
        case .useDefault: nil
        case .set(let rate, let burst, let concurrency):
            LaneLimit(
                ratePerSecond: rate ?? current.ratePerSecond,
                burst: burst ?? current.burst,
                inFlightMax: concurrency ?? current.inFlightMax
            )
        }
    }
}
