import ArgumentParser
import PollerClient
import PollerWire

// Where a command takes an endpoint, it takes its ID or its name.

extension PollerClient {
    /// Endpoints read at a time while a name is looked up.
    private static var pageMax: Int { 500 }

    /// The ID of an endpoint that is given by its ID or by its name.
    ///
    /// The text itself where no endpoint has that name: the server's answer then says what is wrong with it.
    func endpointID(_ text: String) async throws -> String {
        guard !text.hasPrefix("ep_") else { return text }
        var found: [Endpoint] = []
        var cursor: String?
        repeat {
            let page = try await endpoints(limit: Self.pageMax, cursor: cursor)
            found += page.items.map(\.value).filter { $0.name == text }
            cursor = page.next
        } while cursor != nil
        if found.count > 1 {
            let choices = found.map { "\($0.id) of account \($0.account)" }
            throw ValidationError(
                "endpoints of several accounts are called \"\(text)\": "
                    + "\(choices.joined(separator: ", ")); name one by its ID"
            )
        }
        return found.first?.id ?? text
    }

    /// Replaces the name of a fallback in an update by its ID.
    func resolveFallback(of update: inout EndpointUpdate) async throws {
        guard let notifyBy = update.notifyBy else { return }
        update.notifyBy?.fallback = try await endpointID(notifyBy.fallback)
    }
}
