/// What is true of an order, which a customer may have tried to pay in several ways.
///
/// *Shape* (what is not known is left out):
/// ```
/// {"order":"A77","account":"default","payment":{"state":"paid","amount":1099,…},"paid_by":"src_2",
///  "charging":{"source":"src_2","kind":"source","seq":2,"number":2},"seq":3,
///  "created_at":"2026-11-20T09:30:00.125Z","members":[{"source":"src_1","kind":"source","seq":4,
///  "payment":{"state":"failed",…}},{"source":"src_2",…}]}
/// ```
public struct Order: WireObject, Hashable {
    /// What the shop calls it.
    public var order = ""
    /// The account at the upstream.
    public var account = ""
    /// The one word for all tries together, and the sums of all of them.
    public var payment = Payment()
    /// The source whose money counts: the one that was paid first; nil while none is.
    public var paidBy: String?
    /// Sources that were paid as well; nil when there is none.
    public var alsoPaidBy: [String]?
    /// Which try may be charged; nil before any was about to be.
    public var charging: Charging?
    /// Events recorded of it.
    public var seq = 0
    /// When it became known.
    public var createdAt = Time(ms: 0)
    /// The ways in which it was tried to be paid, in the order in which they became known.
    public var members: [Member] = []

    /// One way in which it was tried to be paid.
    public struct Member: WireObject, Hashable {
        /// The upstream's id.
        public var source = ""
        /// What sort of object that is.
        public var kind = Open(Kind.source)
        /// The number of its event that told this; 0 before the first.
        public var seq = 0
        /// What is true of it.
        public var payment = Payment()

        package init() {}

        package static let shape = Shape<Member> {
            Field("source", \.source)
            Field("kind", \.kind)
            Field("seq", \.seq, note: "The event that told it; 0 before the first.")
            Field("payment", \.payment)
        }
    }

    /// The right to charge it.
    public struct Charging: WireObject, Hashable {
        /// The source that has it.
        public var source = ""
        /// What sort of object that is.
        public var kind = Open(Kind.source)
        /// The source's last event when it got it.
        public var seq = 0
        /// How many times it has gone to a source; from 1.
        public var number = 1

        package init() {}

        package static let shape = Shape<Charging> {
            Field("source", \.source)
            Field("kind", \.kind)
            Field("seq", \.seq)
            Field("number", \.number, note: "How many times it has gone to a source.")
        }
    }

    package init() {}

    package static let shape = Shape<Order>("Order") {
        Field("order", \.order)
        Field("account", \.account)
        Field("payment", \.payment, note: "The one word for all tries, and the sums of all.")
        Field("paid_by", \.paidBy, note: "The source whose money counts: the first that was paid.")
        Field("also_paid_by", \.alsoPaidBy, note: "Sources that were paid as well.")
        Field("charging", \.charging, note: "Which of the sources may be charged.")
        Field("seq", \.seq, note: "Events recorded of it.")
        Field("created_at", \.createdAt)
        Field("members", \.members)
    }
}

extension Facet {
    /// What somebody may be told of: all that can be watched, orders, and incidents.
    static let toldKind = Facet { $0 = Schema.component(Components.eventKind.name) }
}
