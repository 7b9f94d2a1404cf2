import Hummingbird
import NIOCore

/// What a request needs of its connection: the channel, to be able to reset it.
struct SandboxContext: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        channel = source.channel
    }
}
