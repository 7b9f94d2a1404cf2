/// An order and its payment attempts.
///
/// *Shape* (unknown fields are left out):
/// ```
/// {"order":"A77","account":"default","payment":{"state":"paid","amount":1099,…},"paid_by":"src_2",
///  "charging":{"source":"src_2","kind":"source","seq":2,"number":2},"seq":3,
///  "created_at":"2026-11-20T09:30:00.125Z","members":[{"source":"src_1","kind":"source","seq":4,
///  "payment":{"state":"failed",…}},{"source":"src_2",…}]}
/// ```
public struct Order: WireObject, Hashable {
    /// The shop's order ID.
    public var order = ""
    /// The account at the upstream.
    public var account = ""
    /// The payment state of all attempts together, with their total amounts.
    public var payment = Payment()
    /// The source that was paid first; `nil` while none is paid.
    public var paidBy: String?
    /// Further sources that were paid; `nil` if there are none.
    public var alsoPaidBy: [String]?
    /// The attempt that may be charged; `nil` before the first charge, and after one that was certainly not made.
    public var charging: Charging?
    /// The number of events recorded for the order.
    public var seq = 0
    /// The creation time.
    public var createdAt = Time(ms: 0)
    /// The payment attempts, in the order in which they were created.
    public var members: [Member] = []

    /// A payment attempt.
    public struct Member: WireObject, Hashable {
        /// The ID at the upstream.
        public var source = ""
        /// The kind of the object.
        public var kind = Open(Kind.source)
        /// The `seq` of the attempt's last event; 0 before the first.
        public var seq = 0
        /// The payment of the attempt.
        public var payment = Payment()

        package init() {}

        package static let shape = Shape<Member> {
            Field("source", \.source)
            Field("kind", \.kind)
            Field("seq", \.seq).note("The event that reported it. 0 before the first.")
            Field("payment", \.payment)
        }
    }

    /// The right to charge the order.
    public struct Charging: WireObject, Hashable {
        /// The source that holds the right.
        public var source = ""
        /// The kind of the source.
        public var kind = Open(Kind.source)
        /// The source's last event when it received the right.
        public var seq = 0
        /// The number of times the right was granted, from 1.
        public var number = 1

        package init() {}

        package static let shape = Shape<Charging> {
            Field("source", \.source)
            Field("kind", \.kind)
            Field("seq", \.seq)
            Field("number", \.number)
                .note("The number of times the right to charge was granted, from 1.")
        }
    }

    package init() {}

    package static let shape = Shape<Order>("Order") {
        Field("order", \.order)
        Field("account", \.account)
        Field("payment", \.payment)
            .note("The payment state over all attempts, and the sums of all.")
        Field("paid_by", \.paidBy).note("The source that pays the order: the first that was paid.")
        Field("also_paid_by", \.alsoPaidBy).note("Other sources that were also paid.")
        Field("charging", \.charging).note("Which of the sources may be charged.")
        Field("seq", \.seq).note("Recorded events of the order.")
        Field("created_at", \.createdAt)
        Field("members", \.members)
    }
}
