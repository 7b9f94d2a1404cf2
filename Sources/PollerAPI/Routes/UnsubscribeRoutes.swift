import HTTPTypes
import Hummingbird
import Logging
import Poller

/// The links at the end of mails: `GET` asks, `POST` does it.
///
/// RFC 8058 has mail programs post by themselves. The token is the key, to this one wish alone;
/// nothing here is behind an API key.
struct UnsubscribeRoutes {
    /// `List-Unsubscribe=One-Click` in either encoding of forms, with room.
    private static let bodyBytesMax = 4096

    let preferences: MailPreferences?
    let reader: BodyReader
    private let page = UnsubscribePage()

    init(preferences: MailPreferences?, reader: BodyReader) {
        self.preferences = preferences
        self.reader = reader
    }

    func add(to router: Router<APIContext>) {
        router.add(.unsubscribePage, ask)
        router.add(.unsubscribe, stop)
    }

    @Sendable
    private func ask(_ request: Request, _ context: APIContext) async throws -> Response {
        entry(context) == nil ? page.neutral() : page.question()
    }

    @Sendable
    private func stop(_ request: Request, _ context: APIContext) async throws -> Response {
        let body = try await reader.read(request, bytesMax: Self.bodyBytesMax)
        guard let entry = entry(context), let preferences else { return page.neutral() }
        // Scanners of mails post to links, too; only a mail program and our button say this.
        let text = String(decoding: body, as: UTF8.self)
        guard text.contains("List-Unsubscribe"), text.contains("One-Click") else {
            return page.notAsked()
        }
        do throws(StoreError) {
            try await preferences.suppressions.suppress(entry, because: .unsubscribed)
        } catch {
            context.logger.warning("not unsubscribed", metadata: ["error": "\(error)"])
            return page.unavailable()
        }
        return page.done()
    }

    private func entry(_ context: APIContext) -> SuppressionEntry? {
        context.parameters.get("token").flatMap { preferences?.tokens.entry(of: $0) }
    }
}
