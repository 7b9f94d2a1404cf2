import Foundation
import PollerIdentity
import PollerTesting
import Testing

/// Fully populated Stripe objects, generated from Stripe's published specification.
struct StripeDocuments {
    /// An object and the kind under which it is polled.
    struct Polled {
        let kind: SourceKind
        let name: String
        let document: JSONTree
    }

    private let schemas: SchemaDocument

    /// Reads the specification in the fixtures.
    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "Fixtures/stripe_schemas.json")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let specification = try #require(JSONTree(text))
        schemas = SchemaDocument(components: try #require(specification["schemas"]))
    }

    /// Returns one object by the name of its schema.
    func object(_ name: String) throws -> JSONTree {
        try #require(schemas.document(name))
    }

    /// Returns one object per polled kind, and one source per type.
    func polled() throws -> [Polled] {
        var all: [Polled] = []
        let source = try object("source")
        let types = schemas.words("source", "type")
        for type in types {
            // A source has only the details of its own type.
            var document = source.with("type", type)
            for other in types where other != type { document[other] = nil }
            all.append(Polled(kind: .source, name: "source of \(type)", document: document))
        }
        let intent = try object("payment_intent").with(charge: try object("charge"))
        all.append(Polled(kind: .paymentIntent, name: "payment intent", document: intent))
        let setup = try object("setup_intent")
        all.append(Polled(kind: .setupIntent, name: "setup intent", document: setup))
        let charge = try object("charge")
        all.append(Polled(kind: .charge, name: "charge", document: charge))
        for (name, disputed) in [("without dispute", "false"), ("with dispute", "true")] {
            var changed = charge.with("status", "succeeded")
            changed["disputed"] = .raw(disputed)
            changed["dispute"] =
                disputed == "true" ? try object("dispute").with("status", "lost") : .raw("null")
            all.append(Polled(kind: .charge, name: "charge \(name)", document: changed))
        }
        return all
    }

    /// Returns the objects in every status, flow, usage and next step that affects their meaning.
    func variants() throws -> [Polled] {
        try polled().flatMap { polled -> [Polled] in
            switch polled.kind {
            case .source: sources(polled)
            case .paymentIntent, .setupIntent: intents(polled)
            default:
                ["pending", "succeeded", "failed"].map { status in
                    Polled(
                        kind: polled.kind,
                        name: "\(polled.name), \(status)",
                        document: polled.document.with("status", status)
                    )
                }
            }
        }
    }

    private func sources(_ polled: Polled) -> [Polled] {
        let flows = ["redirect", "receiver", "code_verification", "none"]
        let statuses = ["pending", "chargeable", "consumed", "canceled", "failed"]
        return flows.flatMap { flow in
            statuses.enumerated().map { place, status in
                let document = polled.document.with("flow", flow).with("status", status)
                    .with("usage", place % 2 == 0 ? "single_use" : "reusable")
                return Polled(
                    kind: .source,
                    name: "\(polled.name), \(flow), \(status)",
                    document: document
                )
            }
        }
    }

    private func intents(_ polled: Polled) -> [Polled] {
        let statuses = [
            "requires_payment_method", "requires_confirmation", "processing", "requires_capture",
            "succeeded",
            "canceled",
        ]
        var all = statuses.map { status in
            Polled(
                kind: polled.kind,
                name: "\(polled.name), \(status)",
                document: polled.document.with("status", status)
            )
        }
        // A next step's type is the name of the member that describes it.
        guard let action = polled.document["next_action"], case .object(let steps) = action else {
            return all
        }
        for step in steps where step.name != "type" {
            var document = polled.document.with("status", "requires_action")
            document["next_action"] = action.with("type", step.name)
            all.append(
                Polled(kind: polled.kind, name: "\(polled.name), \(step.name)", document: document)
            )
        }
        return all
    }

    func event(_ type: String, about object: JSONTree) throws -> JSONTree {
        var event = try self.object("event").with("type", type)
        event["data"] = .object([(name: "object", value: object)])
        return event
    }
}

extension JSONTree {
    /// Returns a copy with a text member.
    func with(_ name: String, _ text: String) -> JSONTree {
        var changed = self
        changed[name] = .text(text)
        return changed
    }

    /// Returns a copy with an expanded charge.
    func with(charge: JSONTree) -> JSONTree {
        var changed = self
        changed["latest_charge"] = charge
        return changed
    }
}
