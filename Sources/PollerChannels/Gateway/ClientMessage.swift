import Foundation

/// A message from a client, as it came.
///
/// ```
/// {"op":"auth","token":"…"}
/// {"op":"subscribe","ref":1,"sources":["src_…"],"types":["source.*"],"from":"<cursor>"|"now"|"snapshot"}
/// {"op":"unsubscribe","sub":"s1"}      {"op":"ping"}
/// ```
struct ClientMessage: Decodable, Hashable, Sendable {
    let op: String
    let token: String?
    let ref: Int?
    let sources: [String]?
    let types: [String]?
    let from: String?
    let sub: String?

    /// Reads a message, or nil when it is none.
    ///
    /// Unknown members are passed over: clients may be newer.
    init?(_ text: String) {
        guard let message = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else {
            return nil
        }
        self = message
    }
}
