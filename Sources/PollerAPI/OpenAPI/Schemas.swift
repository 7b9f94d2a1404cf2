import Poller
import PollerWire

/// The schemas that the description refers to by name.
///
/// They come from the dictionary of the wire (``Components``): the table of fields that writes an
/// answer and reads a request also says what they look like, so a field that is added there is
/// described. Two are of the API alone.
enum Schemas {
    /// Schemas of pages, which clients do not use.
    private static let ofPages: Set = ["ReturnUpdate", "ReturnUpdateState"]

    /// Every schema, by its name among the components; those of pages only if these are described.
    static func all(withPages: Bool) -> SchemaNode {
        var members: [(String, SchemaNode)] = []
        for (name, schema) in Components.all where withPages || !ofPages.contains(name) {
            members.append((name, .json(name == "Problem" ? problem.json : schema.json)))
        }
        return .object(members + [("ProblemCode", codes), ("Wait", wait)])
    }

    /// The codes by which a client decides.
    private static var codes: SchemaNode { .words(ProblemCode.allCases.map(\.rawValue)) }

    /// A problem with the codes of this server: the dictionary leaves them open for clients.
    private static var problem: Schema {
        var problem = ProblemReport.shape.schema
        guard case .members(var members) = problem["properties"],
            let index = members.firstIndex(where: { $0.0 == "code" })
        else { return problem }
        members[index].1 = Schema.component("ProblemCode")
        problem["properties"] = .members(members)
        return problem
    }

    /// Seconds, milliseconds or minutes up to a minute, with as many zeros before as somebody likes.
    private static let wait: SchemaNode = [
        "description": "0s to 60s.", "type": "string",
        "pattern": """
        ^0*([0-9]|[1-5][0-9]|60)s$|^0*([0-9]{1,4}|[1-5][0-9]{4}|60000)ms$|^0*[01]m$|^0+[hd]$
        """,
        "examples": ["25s"],
    ]
}
