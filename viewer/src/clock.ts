// Time: where it is, whether it runs, how fast.

/** The slowest and fastest speed are this power of ten from the ordinary one. */
export const SPEED_RANGE = 3;

export class Clock {
  time: number;
  playing = false;
  loop = true;
  /** A multiple of the ordinary speed, from 1/1000 to 1000. */
  speed = 1;
  /** How much time of the motion passes in a second at the ordinary speed. */
  ordinary: number;
  start: number;
  end: number;

  constructor(start: number, end: number, pace: number) {
    this.start = start;
    this.end = end;
    this.time = start;
    this.ordinary = ordinarySpeed(pace);
  }

  /** Goes on by some seconds of the clock on the wall. Says whether the end was reached. */
  advance(seconds: number, endless: boolean): void {
    const next = this.time + seconds * this.speed * this.ordinary;
    if (endless || next <= this.end) {
      this.time = next;
    } else if (this.loop && this.end > this.start) {
      this.time = this.start;
    } else {
      this.time = this.end;
      this.playing = false;
    }
  }

  set(time: number, endless = false): void {
    if (!Number.isFinite(time)) return;
    this.time = endless ? time : Math.min(Math.max(time, this.start), this.end);
  }

  setSpeed(speed: number): void {
    const limit = 10 ** SPEED_RANGE;
    this.speed = Math.min(Math.max(speed, 1 / limit), limit);
  }
}

/** One unit of time a second, unless the body then turned too slowly or too fast to be seen: then a power of ten. */
export function ordinarySpeed(pace: number): number {
  if (!(pace > 0) || (pace >= 0.15 && pace <= 8)) return 1;
  return 10 ** Math.round(Math.log10(1.5 / pace));
}
