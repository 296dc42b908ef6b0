//! The agent's end of connections for data.

use super::member::{Order, Side};
use super::receiving::receive_all;
use super::sending::send_all;
use crate::agent::desk::Desk;
use crate::channel::{Channel, ChannelError};
use crate::facts;
use crate::prober::Placed;
use crate::protocol::{Refusal, Reply};
use dwell_core::Direction;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long the peer's connections are waited for.
const ARRIVE: Duration = Duration::from_secs(5);

/// Does what a peer orders that reached us at `local`.
pub(crate) fn serve(
    desk: &Desk,
    local: SocketAddr,
    channel: &mut Channel,
    order: &Order,
) -> Result<Result<(), Refusal>, ChannelError> {
    if let Err(refusal) = order.admitted(&desk.config().limits) {
        return Ok(Err(refusal));
    }
    let streams = match gather(desk, channel, order)? {
        Ok(streams) => streams,
        Err(refusal) => return Ok(Err(refusal)),
    };
    channel.send(&Reply::Streaming)?;
    let side = match order.direction {
        Direction::Forward => {
            let spin = desk.config().before_stamp;
            receive_all(streams, order, spin, channel).map(|samples| Side::Receiver { samples })
        }
        Direction::Reverse => send_all(&streams, order, channel)
            .map(|(samples, connection)| Side::Sender { samples, connection }),
    };
    match side {
        Ok(side) => {
            let facts = Box::new(facts::gather(local.ip(), Placed::default()));
            Ok(Ok(channel.send(&Reply::Streamed { side: Box::new(side), facts })?))
        }
        Err(error) => Ok(Err(Refusal::Failed(error.to_string()))),
    }
}

fn gather(
    desk: &Desk,
    channel: &mut Channel,
    order: &Order,
) -> Result<Result<Vec<TcpStream>, Refusal>, ChannelError> {
    let count = order.connections as usize;
    let arrivals = desk.arrivals().expect(order.token, count);
    let answered = channel.send(&Reply::Expecting);
    let until = Instant::now() + ARRIVE;
    let left = || until.saturating_duration_since(Instant::now());
    let streams: Vec<TcpStream> = (0..count).map_while(|_| arrivals.recv_timeout(left()).ok()).collect();
    desk.arrivals().expect_no_more(&order.token);
    answered?;
    if streams.len() < count {
        let came = streams.len();
        return Ok(Err(Refusal::Failed(format!("{came} of {count} TCP connections came"))));
    }
    Ok(Ok(streams))
}
