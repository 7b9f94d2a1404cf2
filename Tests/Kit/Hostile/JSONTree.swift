import JSONText

/// A JSON document that a test changes member by member.
package indirect enum JSONTree: Sendable {
    /// Members in order; a name may occur twice.
    case object([(name: String, value: JSONTree)])
    case array([JSONTree])
    case text(String)
    /// A number, `true`, `false` or `null`, as it is written.
    case raw(String)

    /// The path of a value: the index of a child in its parent, from the root down.
    package typealias Path = [Int]

    /// Reads a document; `nil` for text that is not JSON.
    package init?(_ text: String) {
        guard let json = RawJSON(text) else { return nil }
        self.init(json)
    }

    private init(_ json: RawJSON) {
        if let members = json.members {
            self = .object(members.map { (name: $0.name, value: JSONTree($0.value)) })
        } else if let elements = json.elements {
            self = .array(elements.map { JSONTree($0) })
        } else if let text = json.string {
            self = .text(text)
        } else {
            self = .raw(json.description)
        }
    }

    /// The child values, in order.
    package var children: [JSONTree] {
        switch self {
        case .object(let members): members.map(\.value)
        case .array(let elements): elements
        case .text, .raw: []
        }
    }

    /// Whether the value is a number.
    package var isNumber: Bool {
        if case .raw(let text) = self {
            text.first.map { $0 == "-" || $0.isNumber } ?? false
        } else {
            false
        }
    }

    /// The value of a member; `nil` if there is none.
    package subscript(_ name: String) -> JSONTree? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.first { $0.name == name }?.value
        }
        set {
            guard case .object(var members) = self else { return }
            let place = members.firstIndex { $0.name == name }
            switch (place, newValue) {
            case (let place?, let value?): members[place].value = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((name: name, value: value))
            case (nil, nil): break
            }
            self = .object(members)
        }
    }

    /// Returns the paths of all values for which `isWanted` holds, including the root's.
    package func paths(where isWanted: (JSONTree) -> Bool) -> [Path] {
        var found: [Path] = []
        func visit(_ tree: JSONTree, _ path: Path) {
            if isWanted(tree) { found.append(path) }
            for (place, child) in tree.children.enumerated() { visit(child, path + [place]) }
        }
        visit(self, [])
        return found
    }

    /// Returns the names along a path, for messages: `receiver.amount_received`.
    package func name(of path: Path) -> String {
        var (tree, names) = (self, [String]())
        for place in path {
            if case .object(let members) = tree {
                names.append(members[place].name)
            } else {
                names.append("\(place)")
            }
            tree = tree.children[place]
        }
        return names.joined(separator: ".")
    }

    /// Returns a copy with another value at a path.
    package func replacing(
        _ path: some Collection<Int>,
        by change: (JSONTree) -> JSONTree
    ) -> JSONTree {
        guard let place = path.first else { return change(self) }
        let deeper = path.dropFirst()
        switch self {
        case .object(var members):
            members[place].value = members[place].value.replacing(deeper, by: change)
            return .object(members)
        case .array(var elements):
            elements[place] = elements[place].replacing(deeper, by: change)
            return .array(elements)
        case .text, .raw: return self
        }
    }

    /// The document on one line.
    package var json: String {
        switch self {
        case .object(let members):
            "{\(members.map { "\(JSONWriter.literal($0.name)):\($0.value.json)" }.joined(separator: ","))}"
        case .array(let elements): "[\(elements.map(\.json).joined(separator: ","))]"
        case .text(let text): JSONWriter.literal(text)
        case .raw(let text): text
        }
    }
}
