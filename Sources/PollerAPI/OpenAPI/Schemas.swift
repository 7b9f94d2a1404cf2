import PollerWire

/// The schemas that the description refers to by name.
///
/// They come from the shapes of the API (``Components``). The table of fields that encodes and decodes an object also
/// defines its schema, so an added field is described automatically. Two schemas exist only in the API.
enum Schemas {
    /// Schemas of pages, which API clients do not use.
    private static let ofPages: Set = ["ReturnUpdate", "ReturnUpdateState"]

    /// Returns every schema by its component name; those of pages only if pages are described.
    static func all(withPages: Bool) -> SchemaNode {
        var members: [(String, SchemaNode)] = []
        for (name, schema) in Components.all where withPages || !ofPages.contains(name) {
            members.append((name, .json(name == "Problem" ? problem.json : schema.json)))
        }
        return .object(members + [("ProblemCode", codes), ("Wait", wait)])
    }

    /// The problem codes, on which clients decide.
    private static var codes: SchemaNode { .words(ProblemCode.allCases.map(\.rawValue)) }

    /// The problem schema, with `code` limited to this server's codes.
    ///
    /// The shape shared with clients allows any code.
    private static var problem: Schema {
        var problem = ProblemReport.shape.schema
        guard case .members(var members) = problem["properties"],
            let index = members.firstIndex(where: { $0.0 == "code" })
        else { return problem }
        members[index].1 = Schema.component("ProblemCode")
        problem["properties"] = .members(members)
        return problem
    }

    /// Seconds, milliseconds or minutes up to one minute, with any number of leading zeros.
    private static let wait: SchemaNode = [
        "description": "0s to 60s.", "type": "string",
        "pattern": """
        ^0*([0-9]|[1-5][0-9]|60)s$|^0*([0-9]{1,4}|[1-5][0-9]{4}|60000)ms$|^0*[01]m$|^0+[hd]$
        """,
        "examples": ["25s"],
    ]
}
