import Poller
import PollerIdentity

/// Where a payment's page and what belongs to it are, as the browser of the request that is answered finds them
/// (``BasePath``).
struct ReturnPaths {
    private let key: WatchKey

    init(_ key: WatchKey) {
        self.key = key
    }

    /// The page.
    var page: String { path() }
    /// Its news.
    var state: String { path("/state") }
    /// The way on to the bank.
    var onward: String { path("/continue") }
    /// Where a form of it is posted to.
    func form(_ form: PayerForm) -> String {
        switch form {
        case .code, .amounts: path("/verify")
        case .account: path("/refund_account")
        }
    }

    private func path(_ tail: String = "") -> String {
        let account = key.account == .main ? "" : "?account=\(key.account)"
        return "\(BasePath.current)/r/\(key.source)\(tail)\(account)"
    }
}

/// What a customer's address says.
struct ReturnVisit: Sendable {
    /// The id of the payment, as it is.
    let payment: String?
    private let query: [String: String]

    fileprivate init(payment: String?, query: [String: String]) {
        self.payment =
            payment ?? query["source"] ?? query["payment_intent"] ?? query["setup_intent"]
        self.query = query
    }

    /// A parameter that Stripe or we have added, the first of its name.
    subscript(_ name: String) -> String? { query[name] }
}

extension RouteInput where Value == String {
    /// The payment that the path names, whatever it is.
    static var payment: Self {
        segment("source", "src_…, pi_… or seti_….")
    }
}

extension RouteInput where Value == ReturnVisit {
    /// An address with what Stripe adds to a return URL, and ours.
    ///
    /// A customer gets a page, whatever else somebody has put into the address; so everything else
    /// is passed over. `path`: the payment it names; without it the query does.
    static func visit(at path: RouteInput<String>?) -> Self {
        let ofIntents = [
            ("source", "src_…; or payment_intent, setup_intent with their secrets."),
            ("payment_intent", "pi_…"), ("payment_intent_client_secret", "Its secret."),
            ("setup_intent", "seti_…"), ("setup_intent_client_secret", "Its secret."),
        ]
        let ofAll = [
            ("client_secret", "The payment's own; a right one becomes a cookie of 30 minutes."),
            ("redirect_status", "What Stripe adds; never believed."),
            ("livemode", "Must agree with what was seen."),
            ("account", "The account of the watch; default when absent."),
            ("grant", "Leads on to the bank without the secret, as a next_step's url has it."),
        ]
        let described = path == nil ? ofIntents + ofAll : ofAll
        let parameters = described.map { name, description in
            RouteParameter(
                name: name,
                place: .query,
                description: description,
                schema: ["type": "string"]
            )
        }
        // Ours: how often the page was loaded without a script.
        let names = (ofIntents + ofAll).map(\.0) + ["n"]
        return Self((path?.parameters ?? []) + parameters) { values throws(Problem) in
            var query: [String: String] = [:]
            for name in names { query[name] = values.query(name) }
            return ReturnVisit(payment: try path?.read(values), query: query)
        }.lenient(knowing: names)
    }
}
