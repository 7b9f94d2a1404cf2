/// The kind of an upstream object.
public enum Kind: String, Word {
    case source
    case paymentIntent = "payment_intent"
    case setupIntent = "setup_intent"
    case charge, http
}

extension Kind {
    /// The kind of object of an event or a delivery: the kinds of watches, orders and incidents.
    static let ofEvents: (name: String, schema: Schema) = (
        "EventKind",
        Schema([
            ("type", .text("string")),
            ("enum", .texts(Kind.allCases.map(\.rawValue) + ["order", "incident"])),
        ])
    )
}

extension Facet {
    /// The kinds of objects in events: watched objects, orders and incidents.
    static let eventObjectKind = Facet { $0 = Schema.component(Kind.ofEvents.name) }
}
